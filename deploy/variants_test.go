// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"cmp"
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const namespace = "docket-system"

// variant is one way to install Docket, which kustomize and Helm both offer.
type variant struct {
	overlay string
	values  []string
}

func variants() map[string]variant {
	return map[string]variant{
		"sqlite":                {"overlays/sqlite", nil},
		"sqlite-cert-manager":   {"overlays/sqlite-cert-manager", []string{"certificate.certManager=true"}},
		"postgres":              {"overlays/postgres", []string{"database.type=postgres"}},
		"postgres-cert-manager": {"overlays/postgres-cert-manager", []string{"database.type=postgres", "certificate.certManager=true"}},
		"bootstrap-certificate": {"testdata/bootstrap-certificate", []string{"certificate.own=false"}},
		"custom-resources":      {"testdata/custom-resources", []string{"customResources.configMap=docket-custom-resources", "customResources.groupVersions={example.com/v1}", "resultMappings.configMap=docket-result-mappings"}},
		"monitoring":            {"testdata/monitoring", []string{"database.type=postgres", "certificate.certManager=true", "monitoring.enabled=true"}},
		"controller":            {"testdata/controller", []string{"controller.enabled=true"}},
		"controller-admission":  {"testdata/controller-admission", []string{"controller.enabled=true", "controller.admission.enabled=true"}},
		"controller-admission-cert-manager": {"testdata/controller-admission-cert-manager", []string{
			"certificate.certManager=true", "controller.enabled=true", "controller.admission.enabled=true", "controller.admission.certManager=true",
		}},
		"controller-monitoring": {"testdata/controller-monitoring", []string{
			"database.type=postgres", "certificate.certManager=true", "monitoring.enabled=true", "controller.enabled=true",
		}},
	}
}

// TestChartEqualsKustomize compares all objects of all variants.
func TestChartEqualsKustomize(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := kustomize(t, v.overlay), helm(t, namespace, v.values...)
			// Helm installs into a namespace that somebody else makes.
			delete(want, "Namespace "+namespace)
			if len(want) < 12 {
				t.Fatalf("kustomize makes %d objects only", len(want))
			}
			if diff := gocmp.Diff(plainly(want), plainly(got)); diff != "" {
				t.Errorf("kustomize (-) and Helm (+) differ:\n%s", diff)
			}
		})
	}
}

// TestOverlaysAreListed finds overlays that no variant has.
func TestOverlaysAreListed(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("overlays/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("overlays: %v, %v", folders, err)
	}
	for _, folder := range folders {
		if _, known := variants()[filepath.Base(folder)]; !known {
			t.Errorf("%s is not compared with the chart", folder)
		}
	}
}

// TestAnotherNamespace replaces the namespace as docs/start/install.md says, and by Helm.
func TestAnotherNamespace(t *testing.T) {
	t.Parallel()
	const other = "reports"
	rendered := run(t, kustomizeTool, "build", "overlays/postgres-cert-manager")
	want := parse(t, []byte(strings.ReplaceAll(string(rendered), namespace, other)))
	delete(want, "Namespace "+other)
	got := helm(t, other, variants()["postgres-cert-manager"].values...)
	if diff := gocmp.Diff(plainly(want), plainly(got)); diff != "" {
		t.Errorf("kustomize (-) and Helm (+) differ:\n%s", diff)
	}
}

// TestOwnCertificate gives the chart the authority of a certificate of one's own.
func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	bundle := base64.StdEncoding.EncodeToString([]byte("a certificate"))
	got := helm(t, namespace, "certificate.caBundle="+bundle)
	base := kustomize(t, "base")
	for _, name := range apiServices(base) {
		want := base[name]
		testkit.NoError(t, unstructured.SetNestedField(want.Object, bundle, "spec", "caBundle"))
		if diff := gocmp.Diff(normal(want), normal(got[name])); diff != "" {
			t.Errorf("%s (-base +chart):\n%s", name, diff)
		}
	}
	for values, want := range map[string]int{
		"apiServices.create=false":                          0,
		"apiServices.groups={openreports.io}":               2,
		"apiServices.groups={openreports.io},results=false": 1,
	} {
		got := helm(t, namespace, "certificate.caBundle="+bundle, values)
		if n := len(apiServices(got)); n != want {
			t.Errorf("%s: %d APIServices, want %d", values, n, want)
		}
	}
	if n := len(apiServices(helm(t, namespace, "certificate.own=false"))); n != 0 {
		t.Errorf("%d APIServices without any authority, want none", n)
	}
}

// TestMigrationOrder leaves the APIServices out by their label, as docs/start/install.md says.
func TestMigrationOrder(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "overlays/postgres-cert-manager")
	if n := len(apiServices(all)); n != 4 {
		t.Errorf("%d APIServices, want 4", n)
	}
	for key, object := range all {
		registers := object.GetLabels()["app.kubernetes.io/component"] == "registration"
		if registers != strings.HasPrefix(key, "APIService ") {
			t.Errorf("%s: component=registration is %v", key, registers)
		}
	}
}

func apiServices(all objects) []string {
	var names []string
	for key := range all {
		if strings.HasPrefix(key, "APIService ") {
			names = append(names, key)
		}
	}
	return names
}

func plainly(all objects) map[string]any {
	plain := map[string]any{}
	for key, object := range all {
		plain[key] = normal(object)
	}
	return plain
}

// normal is an object without the labels that only Helm adds, and with the lists
// sorted whose order has no meaning.
func normal(object *unstructured.Unstructured) any {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	labels := object.GetLabels()
	for _, own := range []string{"helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by"} {
		delete(labels, own)
	}
	object.SetLabels(labels)
	if annotations := object.GetAnnotations(); annotations["helm.sh/resource-policy"] != "" {
		delete(annotations, "helm.sh/resource-policy")
		if len(annotations) == 0 {
			annotations = nil
		}
		object.SetAnnotations(annotations)
	}
	sortLists(object.Object)
	return object.Object
}

func sortLists(node any) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			sortLists(value)
			if list, ok := value.([]any); ok && slices.Contains([]string{"volumes", "volumeMounts", "env"}, key) {
				slices.SortFunc(list, func(a, b any) int { return cmp.Compare(nameOf(a), nameOf(b)) })
			}
		}
	case []any:
		for _, value := range node {
			sortLists(value)
		}
	}
}

func nameOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}
