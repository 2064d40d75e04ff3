// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// api is what an API serves: by group version, resource:Kind, cluster-scoped ones with a +.
type api map[string][]string

func (a api) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	var groups []*metav1.APIGroup
	var lists []*metav1.APIResourceList
	versions := make([]string, 0, len(a))
	for text := range a {
		versions = append(versions, text)
	}
	slices.Sort(versions)
	slices.Reverse(versions) // v2 before v1.
	for _, text := range versions {
		version, _ := schema.ParseGroupVersion(text)
		known := slices.IndexFunc(groups, func(g *metav1.APIGroup) bool { return g.Name == version.Group })
		served := metav1.GroupVersionForDiscovery{GroupVersion: text, Version: version.Version}
		if known < 0 {
			groups = append(groups, &metav1.APIGroup{Name: version.Group, PreferredVersion: served})
			known = len(groups) - 1
		}
		groups[known].Versions = append(groups[known].Versions, served)
		list := &metav1.APIResourceList{GroupVersion: text}
		for _, entry := range a[text] {
			entry, cluster := strings.CutPrefix(entry, "+")
			name, kind, _ := strings.Cut(entry, ":")
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: kind, Namespaced: !cluster, Verbs: metav1.Verbs{"list", "watch"}})
		}
		lists = append(lists, list)
	}
	return groups, lists, nil
}

func testCatalog(t *testing.T) *served.Catalog {
	t.Helper()
	catalog, err := served.Discover(api{
		"v1":                              {"pods:Pod", "pods/exec:PodExecOptions", "pods/status:Pod", "configmaps:ConfigMap", "events:Event", "endpoints:Endpoints", "+namespaces:Namespace", "+nodes:Node", "+nodes/proxy:NodeProxyOptions"},
		"apps/v1":                         {"deployments:Deployment", "deployments/scale:Scale", "deployments/status:Deployment"},
		"autoscaling/v1":                  {"horizontalpodautoscalers:HorizontalPodAutoscaler"},
		"autoscaling/v2":                  {"horizontalpodautoscalers:HorizontalPodAutoscaler"},
		"wgpolicyk8s.io/v1alpha2":         {"policyreports:PolicyReport"},
		"reports.kyverno.io/v1":           {"ephemeralreports:EphemeralReport"},
		"coordination.k8s.io/v1":          {"leases:Lease"},
		"authentication.k8s.io/v1":        {"+tokenreviews:TokenReview"},
		"admissionregistration.k8s.io/v1": {"+validatingwebhookconfigurations:ValidatingWebhookConfiguration", "+validatingadmissionpolicies:ValidatingAdmissionPolicy"},
		"certificates.k8s.io/v1":          {"+certificatesigningrequests:CertificateSigningRequest"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func testConfig(t *testing.T, change func(*RegistrarConfig)) *RegistrarConfig {
	t.Helper()
	config := RegistrarConfig{
		Client: fake.NewClientset(), URL: "https://127.0.0.1:9443", FailPath: "/fail", IgnorePath: "/ignore",
		CABundle: func() []byte { return nil }, Serving: func() error { return nil },
		Policies: func() ([]policy.Policy, bool) { return nil, true }, Catalog: func() *served.Catalog { return nil },
	}
	if change != nil {
		change(&config)
	}
	config.complete()
	return &config
}

// lines shows rules: group/version resources operations, and the scope unless it is any.
func lines(rules []admissionregistrationv1.RuleWithOperations) []string {
	var result []string
	for _, rule := range rules {
		operations := make([]string, 0, len(rule.Operations))
		for _, operation := range rule.Operations {
			operations = append(operations, string(operation))
		}
		line := fmt.Sprintf("%s/%s %s %s", strings.Join(rule.APIGroups, ","), strings.Join(rule.APIVersions, ","),
			strings.Join(rule.Resources, ","), strings.Join(operations, ","))
		if *rule.Scope != admissionregistrationv1.AllScopes {
			line += " " + string(*rule.Scope)
		}
		result = append(result, line)
	}
	return result
}

func TestRules(t *testing.T) {
	t.Parallel()
	const writes = "CREATE,UPDATE"
	kind := func(kind string) policy.Target { return policy.Target{Group: "*", Version: "*", Kind: kind} }
	sub := func(kind, subresource string) policy.Target {
		return policy.Target{Group: "*", Version: "*", Kind: kind, Subresource: subresource}
	}
	with := func(p fakePolicy, change func(*fakePolicy)) policy.Policy { change(&p); return p }
	operations := func(operations ...admissionv1.Operation) func(*fakePolicy) {
		return func(p *fakePolicy) { p.admission.Operations = operations }
	}
	connecting := operations(admissionv1.Connect)
	onlyAdmission := func(p *fakePolicy) { p.background, p.admission.Enforces, p.admission.Closed = false, false, false }
	for name, test := range map[string]struct {
		policies     []policy.Policy
		all          bool
		exclude      policy.Exclusion
		fail, ignore []string
	}{
		"none":                {},
		"kind":                {policies: []policy.Policy{enforcing(true, kind("Pod"))}, fail: []string{"/v1 pods " + writes}},
		"allowed on errors":   {policies: []policy.Policy{enforcing(false, kind("Pod"))}, ignore: []string{"/v1 pods " + writes}},
		"of one group":        {policies: []policy.Policy{enforcing(true, kind("Pod"), kind("ConfigMap"))}, fail: []string{"/v1 configmaps,pods " + writes}},
		"of two":              {policies: []policy.Policy{enforcing(true, kind("Pod")), enforcing(true, kind("Deployment"))}, fail: []string{"/v1 pods " + writes, "apps/v1 deployments " + writes}},
		"same from two":       {policies: []policy.Policy{enforcing(true, kind("Pod")), with(enforcing(true, kind("Pod")), operations(admissionv1.Delete))}, fail: []string{"/v1 pods CREATE,DELETE,UPDATE"}},
		"any operation":       {policies: []policy.Policy{enforcing(true, kind("Pod")), with(enforcing(true, kind("Pod")), operations("*"))}, fail: []string{"/v1 pods *"}},
		"no operation":        {policies: []policy.Policy{with(enforcing(true, kind("Pod")), operations())}},
		"preferred version":   {policies: []policy.Policy{enforcing(true, kind("HorizontalPodAutoscaler"))}, fail: []string{"autoscaling/v2 horizontalpodautoscalers " + writes}},
		"named version":       {policies: []policy.Policy{enforcing(true, policy.Target{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"})}, fail: []string{"autoscaling/v1 horizontalpodautoscalers " + writes}},
		"resource":            {policies: []policy.Policy{enforcing(true, policy.Target{Group: "apps", Version: "v1", Resource: "deployments"})}, fail: []string{"apps/v1 deployments " + writes}},
		"wildcard in a group": {policies: []policy.Policy{enforcing(true, policy.Target{Group: "apps", Version: "*", Kind: "*"})}, fail: []string{"apps/v1 deployments " + writes}},
		"kind not served":     {policies: []policy.Policy{enforcing(true, kind("Widget"))}},
		"resource not served": {policies: []policy.Policy{enforcing(true, policy.Target{Group: "example.com", Version: "v1", Resource: "widgets"})}, fail: []string{"example.com/v1 widgets " + writes}},
		"not served, namespaced policy": {
			policies: []policy.Policy{with(enforcing(true, policy.Target{Group: "example.com", Version: "*", Resource: "widgets", Subresource: "*"}), func(p *fakePolicy) { p.identity.Namespace = "a" })},
			fail:     []string{"example.com/* widgets,widgets/* " + writes + " Namespaced"},
		},
		"subresource":       {policies: []policy.Policy{with(enforcing(true, sub("Pod", "exec")), connecting)}, fail: []string{"/v1 pods/exec CONNECT"}},
		"all subresources":  {policies: []policy.Policy{enforcing(true, sub("Pod", "*"), sub("Pod", "exec"))}, fail: []string{"/v1 pods,pods/* " + writes}},
		"some subresources": {policies: []policy.Policy{enforcing(true, sub("*", "s*"))}, fail: []string{"/v1 pods/status " + writes, "apps/v1 deployments/scale,deployments/status " + writes}},
		"whole pods":        {policies: []policy.Policy{enforcing(true, kind("Pod"), sub("Pod", "ephemeralcontainers"), sub("Pod", "resize"))}, fail: []string{"/v1 pods,pods/ephemeralcontainers,pods/resize " + writes}},
		"bindings":          {policies: []policy.Policy{enforcing(true, sub("Pod", "binding"), policy.Target{Version: "v1", Resource: "bindings"})}, fail: []string{"/v1 bindings,pods/binding " + writes}},
		"one of any kind":   {policies: []policy.Policy{enforcing(true, sub("*", "scale"))}, fail: []string{"apps/v1 deployments/scale " + writes}},
		"request targets":   {policies: []policy.Policy{with(enforcing(true, kind("Pod")), func(p *fakePolicy) { p.admission.Targets = []policy.Target{sub("Pod", "exec")} })}, fail: []string{"/v1 pods/exec " + writes}},
		"namespaced policy": {policies: []policy.Policy{with(enforcing(false, kind("Namespace"), kind("Pod")), func(p *fakePolicy) { p.identity.Namespace = "a" })}, ignore: []string{"/v1 pods " + writes}},
		"scan does it":      {policies: []policy.Policy{with(enforcing(true, kind("Pod")), func(p *fakePolicy) { p.admission.Enforces, p.admission.Closed = false, false })}},
		"scan does it, all": {all: true, policies: []policy.Policy{with(enforcing(true, kind("Pod")), func(p *fakePolicy) { p.admission.Enforces, p.admission.Closed = false, false })}, ignore: []string{"/v1 pods " + writes}},
		"warns":             {policies: []policy.Policy{with(enforcing(true, kind("Pod")), func(p *fakePolicy) { p.admission.Enforces, p.admission.Closed, p.admission.Warns = false, false, true })}, ignore: []string{"/v1 pods " + writes}},
		"not enabled":       {all: true, policies: []policy.Policy{with(enforcing(true, kind("Pod")), func(p *fakePolicy) { p.admission.Enabled = false })}},
		"only at admission": {policies: []policy.Policy{with(enforcing(false, kind("Pod")), onlyAdmission)}, ignore: []string{"/v1 pods CREATE,DELETE,UPDATE"}},
		"closed, no scan":   {policies: []policy.Policy{with(enforcing(true, kind("Pod"), sub("Pod", "exec")), func(p *fakePolicy) { p.background = false })}, fail: []string{"/v1 pods,pods/exec " + writes}, ignore: []string{"/v1 pods DELETE"}},
		"closed, no scan, matches deletions": {
			policies: []policy.Policy{with(with(enforcing(true, kind("Pod")), operations(admissionv1.Delete)).(fakePolicy), func(p *fakePolicy) { p.background = false })},
			fail:     []string{"/v1 pods DELETE"},
		},
		"wildcard, closed": {policies: []policy.Policy{enforcing(true, kind("*"))}, fail: []string{
			"/v1 configmaps,namespaces,pods " + writes, "admissionregistration.k8s.io/v1 validatingadmissionpolicies " + writes,
			"apps/v1 deployments " + writes, "autoscaling/v2 horizontalpodautoscalers " + writes,
		}},
		"wildcard": {policies: []policy.Policy{enforcing(false, kind("*"))}, ignore: []string{
			"/v1 configmaps,namespaces,nodes,pods " + writes, "admissionregistration.k8s.io/v1 validatingadmissionpolicies " + writes,
			"apps/v1 deployments " + writes, "autoscaling/v2 horizontalpodautoscalers " + writes,
			"certificates.k8s.io/v1 certificatesigningrequests " + writes,
		}},
		"named though no wildcard means it": {policies: []policy.Policy{enforcing(true, kind("Endpoints"), kind("Node"))}, fail: []string{"/v1 endpoints,nodes " + writes}},
		"never, though named": {policies: []policy.Policy{enforcing(true, kind("PolicyReport"), kind("EphemeralReport"), kind("Lease"), kind("TokenReview"), kind("ValidatingWebhookConfiguration"),
			policy.Target{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, policy.Target{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"})}},
		"excluded by the user": {policies: []policy.Policy{enforcing(true, kind("ConfigMap"), kind("Pod"))}, exclude: policy.Exclusion{{Resource: "configmaps"}: true}, fail: []string{"/v1 pods " + writes}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := testConfig(t, func(c *RegistrarConfig) { c.All, c.Exclude = test.all, test.exclude })
			chosen := config.selectRules(test.policies, testCatalog(t))
			for which, want := range map[*ruleSet][]string{chosen.fail: test.fail, chosen.ignore: test.ignore} {
				rules, all := which.rules(config.MaxRules)
				if diff := cmp.Diff(want, lines(rules)); diff != "" || all {
					t.Errorf("all: %v; -want +got:\n%s", all, diff)
				}
			}
		})
	}
}

// TestTooManyRulesBecomeOne: it has all of them, and conditions exclude what it must not.
func TestTooManyRulesBecomeOne(t *testing.T) {
	t.Parallel()
	config := testConfig(t, func(c *RegistrarConfig) {
		c.MaxRules, c.ExcludeUsers = 2, []string{"a"}
		c.Exclude = policy.Exclusion{{Group: "*", Resource: "gadgets"}: true}
	})
	all := policy.Target{Group: "*", Version: "*", Kind: "*"}
	plain, withSubs := enforcing(true, all), enforcing(false, all, policy.Target{Group: "*", Version: "*", Kind: "Pod", Subresource: "exec"})
	withSubs.admission.Operations = []admissionv1.Operation{admissionv1.Connect}
	hooks := config.webhooks(config.selectRules([]policy.Policy{plain, withSubs}, testCatalog(t)), nil)
	if len(hooks) != 2 {
		t.Fatalf("%d webhooks", len(hooks))
	}
	for i, want := range []string{"*/* * CREATE,UPDATE", "*/* */* CONNECT"} {
		if got := lines(hooks[i].Rules); len(got) != 1 || got[0] != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	var expressions []string
	for _, condition := range hooks[0].MatchConditions {
		expressions = append(expressions, condition.Name+": "+condition.Expression)
	}
	text := strings.Join(expressions, "\n")
	for _, want := range []string{
		"excluded-users: ", `excluded-api-groups: !(request.resource.group in ["authentication.k8s.io", "authorization.k8s.io", "metrics.k8s.io", "openreports.io", "reports.kyverno.io", "wgpolicyk8s.io"])`,
		`excluded-resources: !(request.resource.resource in ["gadgets"])`, `"coordination.k8s.io/leases"`, `"/events"`, `"/nodes"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the conditions lack %s:\n%s", want, text)
		}
	}
	if last := hooks[1].MatchConditions; strings.Contains(last[len(last)-1].Expression, `"/nodes"`) {
		t.Error("nodes are excluded where failures are ignored")
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config, policy time.Duration
		want           int32
	}{
		{0, 0, 10}, {3 * time.Second, 0, 3}, {3 * time.Second, 5 * time.Second, 5}, {0, 5 * time.Second, 10},
		{0, time.Minute, 30}, {1500 * time.Millisecond, 0, 2}, {time.Millisecond, 0, 1},
	} {
		config := testConfig(t, func(c *RegistrarConfig) { c.Timeout = test.config })
		p := enforcing(true, policy.Target{Group: "*", Version: "*", Kind: "Pod"})
		p.admission.Timeout = test.policy
		hooks := config.webhooks(config.selectRules([]policy.Policy{p}, testCatalog(t)), nil)
		if got := *hooks[0].TimeoutSeconds; got != test.want {
			t.Errorf("%s and a policy with %s: %d s, want %d", test.config, test.policy, got, test.want)
		}
	}
}
