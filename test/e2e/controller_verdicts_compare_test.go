// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// verdictObjects are what TestControllerAdmissionVerdicts asks about, in addition to what the sets have: the same in
// each of three namespaces.
func verdictObjects() string {
	const template = `{spec: {replicas: %d, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: %s}]}}}, `
	var b strings.Builder
	for _, namespace := range []string{"prod", "test", "none"} {
		labels := "{}"
		if namespace != "none" {
			labels = "{environment: " + namespace + "}"
		}
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: %s}}\n", namespace, labels)
		for _, d := range []struct {
			name, labels, image string
			replicas            int
		}{
			{"one", "{app: a}", "nginx", 1}, {"two", "{app: a, exempt: 'false'}", "prod.example.com/a", 2}, {"three", "{app: b}", "test.example.com/a", 3},
			{"six", "{app: a, exempt: 'true'}", "other.example.com/a", 6}, {"seven", "{app: a}", "prod.example.com/b", 7}, {"bare", "{}", "a.example.com/b", 60}, {"huge", "{app: c}", "nginx", 120},
		} {
			fmt.Fprintf(&b, "---\n"+template+"apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: %s, labels: %s}}\n", d.replicas, d.image, d.name, namespace, d.labels)
		}
		fmt.Fprintf(&b, "---\n"+template+"apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: set, namespace: %s, labels: {app: a}}}\n", 8, "nginx", namespace)
		for _, p := range [][3]string{{"plain", "{app: a}", "{}"}, {"privileged", "{app.kubernetes.io/name: a}", "{privileged: true}"}, {"bare", "{}", "{privileged: false}"}} {
			fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s, labels: %s}, spec: {containers: [{name: a, image: prod.example.com/a, securityContext: %s}]}}\n", p[0], namespace, p[1], p[2])
		}
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: numbers, namespace: %s}, data: {int: '7', memory: 2Gi, address: 10.1.2.3, version: 2.1.0}}\n", namespace)
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: texts, namespace: %s, labels: {app: a}}, data: {text: 'Answer is 42', url: 'http://example.com/', memory: 1Mi, version: 1.9.9}}\n", namespace)
		fmt.Fprintf(&b, "---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: scaler, namespace: %s}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: one}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 90}}}]}}\n", namespace)
	}
	return b.String()
}

// verdictKinds are the resources that are compared.
func verdictKinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		deploymentKind, {Group: "apps", Version: "v1", Resource: "replicasets"}, {Version: "v1", Resource: "pods"}, configMapKind, {Version: "v1", Resource: "namespaces"},
		{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"},
	}
}

// verdicts is a cluster with the objects.
type verdicts struct {
	*controlled

	asking   dynamic.Interface
	warnings warnings
	markers  int
}

func newVerdicts(t *testing.T) *verdicts {
	t.Helper()
	cluster := harness.StartCluster(t, harness.APIServerArguments("--allow-privileged=true"))
	cluster.Register(t, cluster.Serve(t).Port)
	v := &verdicts{controlled: startControlledOn(t, cluster)}
	v.kubectl = cluster.Kubectl(t, "")
	config := v.cluster.RESTConfig(t)
	config.WarningHandler = &v.warnings
	v.asking = testkit.Must(dynamic.NewForConfig(config))(t)
	for _, namespace := range []string{"limits", "prod", "test", "none"} {
		v.cluster.EnsureNamespace(t, namespace)
		waitUntil(t, "pods have a service account", func() bool {
			_, err := v.cluster.Client(t).CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
			return err == nil
		})
	}
	v.kubectl.RunInput(t, verdictObjects(), "apply", "-f", "-")
	v.controller.Start(t)
	return v
}

// warnings collects those of a request. It implements rest.WarningHandler.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// answer is what the API server says of the creation of an object: messages by policy and binding.
type answer struct {
	said map[[2]string][]string
	// refused tells that the API server refuses the object for one binding, whatever others say: a parameter is
	// missing, or an annotation can't be computed.
	refused bool
	// unexpected is any other error than that the object is there, such as that a kind of parameters is not known yet.
	unexpected error
}

var (
	warned = regexp.MustCompile(`^Validation failed for ValidatingAdmissionPolicy '(.*?)' with binding '(.*?)': (.*)$`)
	denied = regexp.MustCompile(`ValidatingAdmissionPolicy '(.*?)' with binding '(.*?)' denied request: (.*)$`)
)

// ask creates an object that is there, as a dry run: admission is asked first.
func (v *verdicts) ask(t *testing.T, resource schema.GroupVersionResource, object *unstructured.Unstructured) answer {
	t.Helper()
	copied := object.DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(copied.Object, "metadata", field)
	}
	v.warnings.take()
	_, err := v.asking.Resource(resource).Namespace(object.GetNamespace()).Create(t.Context(), copied, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	a := answer{said: map[[2]string][]string{}}
	for _, text := range v.warnings.take() {
		if match := warned.FindStringSubmatch(text); match != nil {
			a.add(match)
		}
	}
	if match := denied.FindStringSubmatch(fmt.Sprint(err)); match != nil {
		a.refused = true
		a.add(match)
	} else if !apierrors.IsAlreadyExists(err) {
		a.unexpected = fmt.Errorf("an answer that is not expected: %w", err)
	}
	return a
}

func (a *answer) add(match []string) {
	key := [2]string{match[1], match[2]}
	if !slices.Contains(a.said[key], match[3]) {
		a.said[key] = append(a.said[key], match[3])
	}
}

// verdictResult is one of ours.
type verdictResult struct{ outcome, message string }

// ours returns our results by kind/namespace/name, and by policy and binding.
func (v *verdicts) ours(t *testing.T) map[string]map[[2]string]verdictResult {
	t.Helper()
	found := map[string]map[[2]string]verdictResult{}
	for _, report := range v.reports(t) {
		results, _, _ := unstructured.NestedSlice(report.Object, "results")
		for _, item := range results {
			result, _ := item.(map[string]any)
			text := func(name string) string { s, _, _ := unstructured.NestedString(result, name); return s }
			subjects, _, _ := unstructured.NestedSlice(result, "resources")
			if text("source") != validatingKind || len(subjects) == 0 {
				continue
			}
			subject, _ := subjects[0].(map[string]any)
			key := fmt.Sprintf("%s %s/%s", subject["kind"], report.GetNamespace(), subject["name"])
			if found[key] == nil {
				found[key] = map[[2]string]verdictResult{}
			}
			found[key][[2]string{text("policy"), text("rule")}] = verdictResult{text("result"), text("message")}
		}
	}
	return found
}

// compare applies a set and compares until all is equal or that takes too long.
func (v *verdicts) compare(t *testing.T, set *policySet) {
	defer set.remove(t, v)
	if refusal := set.apply(t, v); refusal != "" {
		if !set.mayBeRefused {
			t.Fatal(refusal)
		}
		t.Logf("kube-apiserver refuses a policy of this set, so there is nothing to compare: %s", refusal)
		return
	}
	v.waitForMarker(t)
	var counts comparison
	defer func() { t.Log(counts.String()) }()
	waitUntil(t, "our results are those of kube-apiserver", func() bool {
		counts = v.count(t, set)
		return len(counts.differ) == 0
	})
	if !set.mayBeRefused && counts.equal+counts.leftOut == 0 {
		t.Error("nothing was compared")
	}
}

// waitForMarker waits until kube-apiserver and the controller know a policy that was made after the others.
func (v *verdicts) waitForMarker(t *testing.T) {
	t.Helper()
	v.markers++
	name := fmt.Sprintf("marker-%d", v.markers)
	v.kubectl.RunInput(t, fmt.Sprintf(`
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %[1]s}, spec: {
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps], resourceNames: [numbers]}]},
  validations: [{expression: "false", message: seen}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: %[1]s}, spec: {policyName: %[1]s, validationActions: [Warn]}}
`, name), "apply", "-f", "-")
	defer v.kubectl.Run(t, "delete", "validatingadmissionpolicy/"+name, "validatingadmissionpolicybinding/"+name)
	object := testkit.Must(v.client.Resource(configMapKind).Namespace("prod").Get(t.Context(), "numbers", metav1.GetOptions{}))(t)
	key := [2]string{name, name}
	waitUntil(t, "both know the policies", func() bool {
		return v.ours(t)["ConfigMap prod/numbers"][key].outcome == "fail" && v.ask(t, configMapKind, object).said[key] != nil
	})
}

// comparison counts what was compared: pairs of an object and a binding about which either says anything.
type comparison struct {
	objects, equal, leftOut int
	outcomes                map[string]int
	differ                  []string
}

func (c *comparison) String() string {
	return strings.Join(append([]string{fmt.Sprintf("%d objects: %d verdicts are equal %v, %d differ, %d of kube-apiserver are of policies that a scan leaves out",
		c.objects, c.equal, c.outcomes, len(c.differ), c.leftOut)}, c.differ...), "\n")
}

func (v *verdicts) count(t *testing.T, set *policySet) comparison {
	t.Helper()
	c := comparison{outcomes: map[string]int{}}
	ours := v.ours(t)
	for _, resource := range verdictKinds() {
		list := testkit.Must(v.client.Resource(resource).List(t.Context(), metav1.ListOptions{}))(t)
		for i := range list.Items {
			object := &list.Items[i]
			if strings.HasPrefix(object.GetNamespace()+object.GetName(), "kube-") || strings.HasPrefix(object.GetName(), "system:") || object.GetName() == "kube-root-ca.crt" {
				continue // The control plane's.
			}
			c.objects++
			key := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
			c.add(set, key, v.ask(t, resource, object), ours[key])
		}
	}
	return c
}

// add compares what both say of an object.
func (c *comparison) add(set *policySet, object string, theirs answer, ours map[[2]string]verdictResult) {
	if theirs.unexpected != nil {
		c.differ = append(c.differ, fmt.Sprintf("%s: %v", object, theirs.unexpected))
		return
	}
	for _, binding := range set.bindings {
		key := [2]string{boundBy(binding), binding.GetName()}
		said, result := theirs.said[key], ours[key]
		switch {
		case said == nil && result.outcome == "":
		case set.leftOut[key[0]] && result.outcome == "":
			c.leftOut++
		case !set.leftOut[key[0]] && result.agrees(said, set.ignoring[key[0]], theirs.refused):
			c.equal++
			c.outcomes[result.outcome]++
		default:
			c.differ = append(c.differ, fmt.Sprintf("%s, policy %s, binding %s: kube-apiserver says %q, we %s: %q", object, key[0], key[1], said, result.outcome, result.message))
		}
	}
}

// agrees reports whether a result is what the API server says. An error refuses unless the policy ignores errors;
// where one binding refuses, others that would are not shown. The message of a failure is those of all expressions
// that are not met.
func (r verdictResult) agrees(said []string, ignoring, refused bool) bool {
	switch r.outcome {
	case "pass", "skip":
		return said == nil
	case "error":
		if ignoring {
			return said == nil
		}
		return said == nil && refused || slices.ContainsFunc(said, func(text string) bool {
			return strings.Contains(r.message, strings.TrimPrefix(text, "failed to configure binding: "))
		})
	case "fail":
		failed := slices.DeleteFunc(slices.Clone(said), func(text string) bool { return strings.Contains(text, "' resulted in error: ") })
		return len(failed) > 0 && strings.Join(failed, "; ") == r.message
	default:
		return false
	}
}
