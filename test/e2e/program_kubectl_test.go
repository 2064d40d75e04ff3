// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// runKubectl does what a user of kubectl does with reports, right and wrong: all of it with a kind that
// has namespaces and with one that has none, the usual with the others.
func runKubectl(t *testing.T, p *programCluster) []string {
	s := &transcript{t: t, kubectl: p.cluster.Kubectl(t, p.namespace)}
	for _, group := range []string{"wgpolicyk8s.io", "openreports.io", "reports.kyverno.io"} {
		s.run("", "api-resources", "--api-group", group, "--sort-by", "name")
	}
	kinds := sample.Kinds()
	for i, kind := range kinds {
		one := &kubectlOf{transcript: s, kind: kind, resource: kind.Resource + "." + strings.Split(kind.APIVersion, "/")[0]}
		one.create()
		one.read()
		if i == 0 || i == len(kinds)-1 {
			one.change()
			one.apply()
			one.applyOnServer()
			one.fail()
		}
		one.remove()
	}
	return s.lines
}

// kubectlOf is what a user does with one kind.
type kubectlOf struct {
	*transcript
	kind     sample.Kind
	resource string
}

func (k *kubectlOf) report(name string, changes ...func(*unstructured.Unstructured)) string {
	return reportText(k.t, k.kind, name, append([]func(*unstructured.Unstructured){func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"test": "kubectl"})
		o.SetAnnotations(nil)
	}}, changes...)...)
}

func labelled(value string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"test": "kubectl", "value": value}) }
}

func with(value any, path ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

func (k *kubectlOf) create() {
	k.run(k.report("a"), "create", "-f", "-")
	k.run(k.report("a"), "create", "-f", "-")
	k.run(k.report("b"), "create", "-f", "-", "--dry-run=server")
	k.run(k.report("b"), "create", "-f", "-", "--save-config")
	k.run(k.report("", func(o *unstructured.Unstructured) { o.SetName(""); o.SetGenerateName("made-") }), "create", "-f", "-", "-o", "jsonpath={.metadata.generateName}")
}

func (k *kubectlOf) read() {
	for _, output := range [][]string{
		nil, {"-o", "wide"}, {"-o", "yaml"}, {"-o", "json", "--show-managed-fields"}, {"-o", "name"}, {"--show-labels"},
		{"-o", "custom-columns=NAME:.metadata.name,GENERATION:.metadata.generation"}, {"-o", "jsonpath={.kind}"},
	} {
		k.run("", append([]string{"get", k.resource, "a"}, output...)...)
	}
	k.run("", "get", k.resource, "a", "b", "--sort-by", "{.metadata.name}")
	k.run("", "get", k.resource, "--field-selector", "metadata.name=b", "-o", "name")
	k.run("", "get", k.resource, "-l", "test=kubectl,value!=x", "--chunk-size=1", "-o", "jsonpath={.items[*].metadata.generateName}{.items[*].kind}")
	k.run("", "get", k.resource, "missing")
	k.run("", "get", k.resource, "-l", "none=such")
	k.run("", "describe", k.resource, "a")
}

func (k *kubectlOf) change() {
	k.run("", "label", k.resource, "a", "value=1")
	k.run("", "label", k.resource, "a", "value=2")
	k.run("", "label", k.resource, "a", "value=2", "--overwrite")
	k.run("", "annotate", k.resource, "a", "note=Größe ☃")
	k.run("", "patch", k.resource, "a", "--type=merge", "-p", `{"metadata":{"labels":{"value":null}}}`)
	k.run("", "patch", k.resource, "a", "--type=json", "-p", `[{"op":"test","path":"/metadata/name","value":"b"}]`)
	k.run("", "patch", k.resource, "a", "--type=json", "-p", `[{"op":"add","path":"/metadata/labels/value","value":"3"}]`)
	k.run("", "patch", k.resource, "a", "-p", `{"metadata":{"labels":{"value":"4"}}}`)
	k.run(k.report("a", labelled("5")), "replace", "-f", "-")
	k.run(k.report("missing"), "replace", "-f", "-")
	k.run("", "get", k.resource, "a", "-o", "yaml", "--show-managed-fields")
}

func (k *kubectlOf) apply() {
	k.run(k.report("b"), "apply", "-f", "-")
	k.run(k.report("b", labelled("1")), "diff", "-f", "-")
	k.run(k.report("b", labelled("1")), "apply", "-f", "-")
	k.run(k.report("b", labelled("1")), "apply", "-f", "-")
	k.run(k.report("b"), "apply", "-f", "-", "--dry-run=server", "-o", "jsonpath={.metadata.labels}")
	k.run(k.report("b"), "apply", "-f", "-")
	k.run(k.report("c"), "apply", "-f", "-")
	k.run("", "apply", "view-last-applied", k.resource, "c", "-o", "json")
	k.run("", "get", k.resource, "b", "-o", "yaml")
}

func (k *kubectlOf) applyOnServer() {
	k.run(k.report("s"), "apply", "--server-side", "-f", "-")
	k.run(k.report("s", labelled("1")), "apply", "--server-side", "--field-manager=other", "-f", "-")
	k.run(k.report("s", labelled("2")), "apply", "--server-side", "--field-manager=third", "-f", "-")
	k.run(k.report("s", labelled("2")), "apply", "--server-side", "--field-manager=third", "--force-conflicts", "-f", "-")
	k.run(k.report("s", labelled("3")), "diff", "--server-side", "--field-manager=third", "-f", "-")
	k.run("", "get", k.resource, "s", "-o", "yaml", "--show-managed-fields")
}

func (k *kubectlOf) fail() {
	k.run(k.report("x", with("text", "metadata", "labels")), "create", "-f", "-")
	k.run(k.report("x", with(true, "surprise")), "create", "-f", "-")
	k.run(k.report("x", with(true, "surprise")), "create", "-f", "-", "--validate=warn", "--dry-run=server")
	k.run(k.report("x", with(true, "surprise")), "create", "-f", "-", "--validate=false", "--dry-run=server")
	k.run(k.report("x", with("many", "summary", "fail"), with("many", "spec", "summary", "fail")), "create", "-f", "-", "--validate=false")
	k.run(k.report("Wrong Name"), "create", "-f", "-")
	k.run(k.report("x", with("no/such", "apiVersion")), "apply", "-f", "-")
	k.run("", "get", k.resource, "-l", "a in (")
}

func (k *kubectlOf) remove() {
	k.run("", "delete", k.resource, "a", "--dry-run=server")
	k.run("", "delete", k.resource, "a")
	k.run("", "delete", k.resource, "a")
	k.run("", "delete", k.resource, "a", "--ignore-not-found")
	k.run("", "wait", "--for=delete", k.resource+"/a", "--timeout=5s")
	k.kubectl.Run(k.t, "delete", k.resource, "-l", "test=kubectl") // One has a name by chance.
	k.run("", "get", k.resource, "-l", "test=kubectl")
}

// runManagers lets kube-controller-manager do what it does with reports: remove those
// whose owners are gone, count them for quotas, and empty namespaces.
func runManagers(t *testing.T, p *programCluster) []string {
	s := &transcript{t: t, kubectl: p.cluster.Kubectl(t, p.namespace)}
	const counted = "count/policyreports.wgpolicyk8s.io=2"
	s.run("", "create", "quota", "reports", "--hard="+counted)
	s.run("", "create", "configmap", "owner")
	s.run("", "wait", "--for=jsonpath={.status.hard}", "resourcequota/reports")
	uid := s.kubectl.Run(t, "get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
	for _, name := range []string{"owned", "free", "one-too-many"} {
		s.run(reportText(t, sample.Kinds()[0], name, func(o *unstructured.Unstructured) {
			if name == "owned" {
				o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: types.UID(uid)}})
			}
		}), "create", "-f", "-")
	}
	s.run("", "wait", "--for=jsonpath={.status.used.count/policyreports\\.wgpolicyk8s\\.io}=2", "--timeout=60s", "resourcequota/reports")
	s.run("", "delete", "configmap", "owner")
	s.kubectl.Run(t, "wait", "--for=delete", "--timeout=55s", "policyreport/owned") // Says nothing if it is gone already.
	s.run("", "get", "policyreports,reports.openreports.io,ephemeralreports", "-o", "name")
	s.run("", "wait", "--for=jsonpath={.status.used.count/policyreports\\.wgpolicyk8s\\.io}=1", "--timeout=55s", "resourcequota/reports")
	s.run("", "delete", "namespace", p.namespace, "--timeout=55s")
	s.run("", "create", "namespace", p.namespace)
	s.run("", "get", "policyreports,reports.openreports.io,ephemeralreports", "-o", "name")
	return s.lines
}

// reportText is a report of a kind as JSON.
func reportText(t *testing.T, kind sample.Kind, name string, changes ...func(*unstructured.Unstructured)) string {
	t.Helper()
	object := sample.Cluster{Now: sampleTime}.Report(kind, 1, 2)
	object.SetName(name)
	object.SetNamespace("")
	object.SetOwnerReferences(nil)
	for _, change := range changes {
		change(object)
	}
	data := testkit.Must(json.Marshal(object))(t)
	return fmt.Sprintf("%s\n", data)
}

// sampleTime is the time of all results that programs are given.
var sampleTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// transcript is what a user of kubectl saw.
type transcript struct {
	t       *testing.T
	kubectl *harness.Kubectl
	lines   []string
}

// What kubectl prints of times, identities and files.
var printed = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][0-9:.]+(Z| [+-]\d{4})?`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`(?m)[ \t]+([0-9]+[smhd]){1,2}([ \t]|$)`), " AGE$2"},
	{regexp.MustCompile(`((?i)resource ?version"?: *"?)[0-9]+`), "${1}VERSION"},
	{regexp.MustCompile(`(LIVE|MERGED)-[0-9]+`), "$1"},
	{regexp.MustCompile(`/tmp/[^ :"]+`), "FILE"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

// run runs kubectl and writes down what it says.
func (s *transcript) run(stdin string, arguments ...string) {
	s.t.Helper()
	result := s.kubectl.Try(s.t, stdin, arguments...)
	said := result.Stdout + result.Stderr
	for _, p := range printed {
		said = p.pattern.ReplaceAllString(said, p.instead)
	}
	s.lines = append(s.lines, fmt.Sprintf("$ kubectl %s\n%sexit code %d", strings.Join(arguments, " "), said, result.Code))
}
