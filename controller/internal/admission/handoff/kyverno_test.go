// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	reportskyverno "github.com/kyverno/kyverno/api/reports/v1"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	controllerutils "github.com/kyverno/kyverno/pkg/utils/controller"
	reportutils "github.com/kyverno/kyverno/pkg/utils/report"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// everyStatus has Kyverno's reports include all outcomes, as its flags do by default.
func everyStatus(t *testing.T) {
	t.Helper()
	reportutils.NewReportingConfig([]string{"pass", "fail", "error", "warn", "skip"}, "validate", "mutate", "mutateExisting", "generate", "imageVerify")
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: "7"}
}

func named(kind, namespace, name, uid string) unstructured.Unstructured {
	o := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID(uid))
	return o
}

func response(p engineapi.GenericPolicy, rules ...*engineapi.RuleResponse) engineapi.EngineResponse {
	list := make([]engineapi.RuleResponse, 0, len(rules))
	for _, rule := range rules {
		list = append(list, *rule)
	}
	return engineapi.EngineResponse{PolicyResponse: engineapi.PolicyResponse{Rules: list}}.WithPolicy(p)
}

func request(resource metav1.GroupVersionResource, kind metav1.GroupVersionKind) admissionv1.AdmissionRequest {
	return admissionv1.AdmissionRequest{UID: "request", Resource: resource, Kind: kind}
}

// asStored returns a report as a server has it.
func asStored(t *testing.T, built reportskyverno.ReportInterface) *unstructured.Unstructured {
	t.Helper()
	content := testkit.Must(runtime.DefaultUnstructuredConverter.ToUnstructured(built))(t)
	o := &unstructured.Unstructured{Object: content}
	o.SetName(built.GetGenerateName() + "x")
	o.SetCreationTimestamp(metav1.Now())
	return o
}

// decoded returns what is taken from a report, as "policy resource namespace/name uid rule=outcome …".
func decoded(t *testing.T, o *unstructured.Unstructured) []string {
	t.Helper()
	items := testkit.Must(decodeKyverno(o, time.Now()))(t)
	lines := []string{}
	for _, item := range items {
		if !item.Adopted || time.Since(item.Time) > time.Minute || time.Since(item.Time) < 0 {
			t.Errorf("adopted %v, of %s", item.Adopted, item.Time)
		}
		line := fmt.Sprintf("%s %s:%s %s/%s %s", item.Policy, item.Resource.GroupResource(), item.Subject.Kind, item.Subject.Namespace, item.Subject.Name, item.Subject.UID)
		for _, r := range item.Results {
			line += fmt.Sprintf(" %s=%s", r.Rule, r.Outcome)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestDecodeKyverno: what Kyverno 1.19's admission and background controllers write, made by its own functions.
//
// Kyverno's choice of outcomes is global.
func TestDecodeKyverno(t *testing.T) {
	everyStatus(t)
	cpol := func(annotations map[string]string) engineapi.GenericPolicy {
		p := &kyvernov1.ClusterPolicy{ObjectMeta: meta("", "c")}
		p.Annotations = annotations
		return engineapi.NewKyvernoPolicy(p)
	}
	pol := engineapi.NewKyvernoPolicy(&kyvernov1.Policy{ObjectMeta: meta("shop", "n")})
	pods, pod := metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}
	scale := metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	long := metav1.GroupVersionResource{Group: strings.Repeat("g", 50) + ".example", Version: "v1", Resource: "widgets"}
	mutate, generate := engineapi.Mutation, engineapi.Generation
	for name, test := range map[string]struct {
		report reportskyverno.ReportInterface
		want   []string
	}{
		"validate, two policies": {
			reportutils.BuildAdmissionReport(named("Pod", "shop", "web", "u1"), request(pods, pod),
				response(cpol(nil), engineapi.RuleFail("a", engineapi.Validation, "no", nil), engineapi.RulePass("b", engineapi.Validation, "", nil)),
				response(pol, engineapi.RuleError("a", engineapi.Validation, "no", nil, nil))),
			[]string{"ClusterPolicy/c pods:Pod shop/web u1 a=fail b=pass", "Policy/shop/n pods:Pod shop/web u1 a=error"},
		},
		"not scored": {
			reportutils.BuildAdmissionReport(named("Pod", "shop", "web", "u1"), request(pods, pod),
				response(cpol(map[string]string{"policies.kyverno.io/scored": "false"}), engineapi.RuleFail("a", engineapi.Validation, "no", nil))),
			[]string{"ClusterPolicy/c pods:Pod shop/web u1 a=fail"},
		},
		"a warning": {
			reportutils.BuildAdmissionReport(named("Pod", "shop", "web", "u1"), request(pods, pod), response(cpol(nil), engineapi.RuleWarn("a", engineapi.Validation, "hm", nil))),
			[]string{"ClusterPolicy/c pods:Pod shop/web u1 a=warn"},
		},
		"mutate, being created": {
			reportutils.BuildMutationReport(named("Pod", "shop", "web", ""), request(pods, pod), response(cpol(nil), engineapi.RulePass("m", mutate, "", nil))),
			[]string{"ClusterPolicy/c pods:Pod shop/web  m=pass"},
		},
		"without a name yet": {
			reportutils.BuildMutationReport(named("Pod", "shop", "", ""), request(pods, pod), response(cpol(nil), engineapi.RulePass("m", mutate, "", nil))),
			[]string{},
		},
		"subresource": {
			reportutils.BuildAdmissionReport(named("Scale", "shop", "web", "u1"), request(metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, scale),
				response(cpol(nil), engineapi.RuleFail("a", engineapi.Validation, "no", nil))),
			[]string{"ClusterPolicy/c deployments.apps:Scale shop/web u1 a=fail"},
		},
		"long names": {
			reportutils.BuildAdmissionReport(named("Widget", "shop", "w", "u1"), request(long, metav1.GroupVersionKind{Group: long.Group, Version: "v1", Kind: "Widget"}),
				response(cpol(nil), engineapi.RuleFail("a", engineapi.Validation, "no", nil))),
			[]string{"ClusterPolicy/c widgets." + long.Group + ":Widget shop/w u1 a=fail"},
		},
		"cluster-scoped": {
			reportutils.BuildAdmissionReport(named("Namespace", "", "shop", "u2"), request(metav1.GroupVersionResource{Version: "v1", Resource: "namespaces"}, metav1.GroupVersionKind{Version: "v1", Kind: "Namespace"}),
				response(engineapi.NewImageValidatingPolicy(&policiesv1beta1.ImageValidatingPolicy{ObjectMeta: meta("", "i")}), engineapi.RulePass("", engineapi.ImageVerify, "", nil))),
			[]string{"ImageValidatingPolicy/i namespaces:Namespace /shop u2 =pass"},
		},
		"mutateExisting": {
			reportutils.BuildMutateExistingReport("shop", schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "cm", "u3",
				response(engineapi.NewMutatingPolicy(&policiesv1beta1.MutatingPolicy{ObjectMeta: meta("", "m")}), engineapi.RulePass("", mutate, "", nil)),
				response(engineapi.NewNamespacedMutatingPolicy(&policiesv1beta1.NamespacedMutatingPolicy{ObjectMeta: meta("shop", "m")}), engineapi.RuleSkip("", mutate, "", nil))),
			[]string{"MutatingPolicy/m :ConfigMap shop/cm u3 =pass", "NamespacedMutatingPolicy/shop/m :ConfigMap shop/cm u3 =skip"},
		},
		"generate": {
			reportutils.BuildGenerateReport("", schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "shop", "u2",
				response(engineapi.NewGeneratingPolicy(&policiesv1beta1.GeneratingPolicy{ObjectMeta: meta("", "g")}), engineapi.RulePass("", generate, "", nil)),
				response(cpol(nil), engineapi.RulePass("gen", generate, "", nil))),
			[]string{"ClusterPolicy/c :Namespace /shop u2 gen=pass", "GeneratingPolicy/g :Namespace /shop u2 =pass"},
		},
	} {
		got := decoded(t, asStored(t, test.report))
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, test.want)
		}
	}
}

// TestDecodeKyvernoAdopted: Kyverno's reports controller gives reports of requests an owner.
//
// Kyverno's choice of outcomes is global.
func TestDecodeKyvernoAdopted(t *testing.T) {
	everyStatus(t)
	built := reportutils.BuildMutationReport(named("Pod", "shop", "web", ""), request(metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}),
		response(engineapi.NewKyvernoPolicy(&kyvernov1.ClusterPolicy{ObjectMeta: meta("", "c")}), engineapi.RulePass("m", engineapi.Mutation, "", nil)))
	controllerutils.SetOwner(built, "v1", "Pod", "web", "u1")
	reportutils.SetResourceUid(built, "u1")
	if got := decoded(t, asStored(t, built)); !slices.Equal(got, []string{"ClusterPolicy/c :Pod shop/web u1 m=pass"}) {
		t.Errorf("%q", got)
	}
}

// TestDecodeKyvernoDistrusts: what nobody but others writes is an error, or nothing; a time to come is now.
func TestDecodeKyvernoDistrusts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	report := func(labels map[string]string, results ...any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"results": results}}}
		o.SetNamespace("shop")
		o.SetLabels(labels)
		o.SetAnnotations(map[string]string{nameAnnotation: "web", namespaceAnnotation: "elsewhere"})
		return o
	}
	labels := map[string]string{resourceLabel: "pods.v1"}
	result := func(source, policy, outcome string) map[string]any {
		return map[string]any{"source": source, "policy": policy, "result": outcome, "timestamp": map[string]any{"seconds": now.Unix() + 3600, "nanos": int64(0)}}
	}
	for name, o := range map[string]*unstructured.Unstructured{
		"no spec": {Object: map[string]any{}}, "no resource": report(nil, result("kyverno", "c", "pass")), "no version": report(map[string]string{resourceLabel: "pods"}),
		"results of another type": report(labels, "text"),
	} {
		if items, err := decodeKyverno(o, now); err == nil {
			t.Errorf("%s: %v", name, items)
		}
	}
	items, err := decodeKyverno(report(labels, result("other", "c", "pass"), result("kyverno", "", "pass"), result("kyverno", "c", "great"), result("kyverno", "c", "pass")), now)
	if err != nil || len(items) != 1 || len(items[0].Results) != 1 {
		t.Fatalf("%v, %v", items, err)
	}
	if items[0].Subject.Namespace != "shop" || items[0].Time.After(now) {
		t.Errorf("%+v", items[0])
	}
}

// TestInboxLeavesKyvernosReports: they are deleted at once if Kyverno's reports controller does not run, and left to
// it for a minute if there are signs of it.
func TestInboxLeavesKyvernosReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testLeavesKyvernosReports)
}

func testLeavesKyvernosReports(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	scanned := &unstructured.Unstructured{}
	scanned.SetLabels(map[string]string{hashLabel: "1"})
	admitted := &unstructured.Unstructured{}
	admitted.SetLabels(map[string]string{sourceLabel: "admission"})
	owned := admitted.DeepCopy()
	owned.SetOwnerReferences([]metav1.OwnerReference{{Name: "web"}})
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		age    time.Duration
		want   time.Duration
	}{
		"of a request": {admitted, 0, 0}, "of a request, with an owner": {owned, 0, rivalPatience},
		"of its scan": {scanned, 0, rivalPatience}, "of an old scan": {scanned, time.Hour, 0},
	} {
		r := &rival{}
		r.begin(clock.Now())
		if got := r.patience(clock.Now()); got != rivalPatience {
			t.Errorf("%s: at first %v", name, got)
		}
		later := clock.Now().Add(rivalPatience)
		test.object.SetCreationTimestamp(metav1.NewTime(later.Add(-test.age)))
		r.see(test.object, later)
		if got := r.patience(later); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := r.patience(later.Add(rivalTime)); got != 0 {
			t.Errorf("%s: at last %v", name, got)
		}
	}
	a, to := newAPI(), &sink{atOnce: true}
	o := admitted.DeepCopy()
	o.SetAPIVersion("reports.kyverno.io/v1")
	o.SetKind("EphemeralReport")
	o.SetNamespace("default")
	o.SetName("r")
	o.SetUID("r")
	o.SetLabels(map[string]string{managedByLabel: kyvernoManager, sourceLabel: "admission", resourceLabel: "pods.v1"})
	o.SetAnnotations(map[string]string{nameAnnotation: "web"})
	o.Object["spec"] = map[string]any{"results": []any{map[string]any{"source": "kyverno", "policy": "c", "rule": "r", "result": "pass"}}}
	testkit.Must(at(a, "default").Create(t.Context(), o, metav1.CreateOptions{}))(t)
	a.write(t, item("a", "default", "x", fails("r")))
	a.run(t, InboxConfig{Client: a, Sink: to.take, Clock: clock, Kyverno: true}, maxHeld)
	testkit.Eventually(t, "it is handed on", func() bool { return to.taken() == 1 })
	clock.Step(rivalPatience - time.Second)
	synctest.Wait()
	if got := a.reports(t); len(got) != 2 {
		t.Errorf("too early there are %q", got)
	}
	testkit.Eventually(t, "it is deleted, and not ours", func() bool {
		clock.Step(tick)
		return len(a.reports(t)) == 1
	})
}
