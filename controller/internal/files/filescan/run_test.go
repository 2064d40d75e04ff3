// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const policiesOfAllOutcomes = `
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: owner, annotations: {policies.kyverno.io/description: "Who owns it?"}}, spec: {kinds: [Pod], label: owner, rules: [r1, r2], severity: high}}
---
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: advice}, spec: {kinds: [Pod], label: tier, unscored: true}}
---
{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: broken, namespace: shop}, spec: {kinds: [Pod], problem: "x is 100% wrong,\n::as you see"}}
---
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: nothing}, spec: {kinds: [Node]}}
---
{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e}, spec: {policy: owner, resource: excepted}}
`

const podsOfAllOutcomes = `
{apiVersion: v1, kind: Pod, metadata: {name: good, namespace: shop, labels: {owner: me, tier: web}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: bad}}
---
{apiVersion: v1, kind: Pod, metadata: {name: excepted, labels: {tier: web}}}
`

// recorded is a Reports.
type recorded struct {
	mu        sync.Mutex
	presented map[string]policy.Presentation
	set       map[string]int
}

func (r *recorded) Present(id policy.Identity, p policy.Presentation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.presented[id.String()] = p
}

func (r *recorded) Set(id policy.Identity, subject policy.Reference, results []policy.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set[id.String()+" "+subject.Namespace+"/"+subject.Name] += len(results)
}

// TestRun: every policy is evaluated for every resource; results and presentations reach the
// reports, the numbers and the table.
func TestRun(t *testing.T) {
	t.Parallel()
	source := filescan.NewFiles(parse(t, podsOfAllOutcomes), filescan.FilesOptions{})
	reports := &recorded{presented: map[string]policy.Presentation{}, set: map[string]int{}}
	findings := filescan.NewFindings(false)
	testkit.NoError(t, filescan.Run(t.Context(), source, compile(t, policiesOfAllOutcomes), filescan.Options{Findings: findings, Reports: reports, Workers: 3}))
	wantSet := map[string]int{
		"ClusterPolicy/owner shop/good": 2, "ClusterPolicy/owner default/bad": 2, "ClusterPolicy/owner default/excepted": 2,
		"ClusterPolicy/advice shop/good": 1, "ClusterPolicy/advice default/bad": 1, "ClusterPolicy/advice default/excepted": 1,
		"Policy/shop/broken shop/good": 1,
	}
	testkit.NoDiff(t, cmp.Diff(wantSet, reports.set), "results in reports (-want +got)")
	if len(reports.presented) != 4 || reports.presented["ClusterPolicy/advice"].Scored {
		t.Errorf("presented: %v", reports.presented)
	}
	testkit.NoDiff(t, cmp.Diff(report.Counts{Pass: 4, Fail: 2, Warn: 1, Error: 1, Skip: 2}, findings.Total()), "total (-want +got)")
	var out bytes.Buffer
	testkit.NoError(t, findings.PrintTable(&out, filescan.TableOptions{}))
	want := `Pod/default/bad
  warn  ClusterPolicy/advice/r: the label tier is missing
  fail  ClusterPolicy/owner/r1: the label owner is missing
  fail  ClusterPolicy/owner/r2: the label owner is missing
Pod/shop/good
  error Policy/shop/broken/r: x is 100% wrong, ::as you see

POLICY                 SEVERITY   PASS   FAIL   WARN   ERROR   SKIP
ClusterPolicy/advice              2      0      1      0       0
Policy/shop/broken                0      0      0      1       0
ClusterPolicy/owner    high       2      2      0      0       2
TOTAL                             4      2      1      1       2
1 policy without findings; --all shows all.
`
	testkit.NoDiff(t, cmp.Diff(want, out.String()), "table (-want +got)")
	if want := "4 policies, 3 resources: 4 pass, 2 fail, 1 warn, 1 error, 2 skip"; findings.Summary() != want {
		t.Errorf("summary %q, want %q", findings.Summary(), want)
	}
}

// TestUnreported: the findings of a policy that is out of reports are shown and not reported.
func TestUnreported(t *testing.T) {
	t.Parallel()
	reports := &recorded{presented: map[string]policy.Presentation{}, set: map[string]int{}}
	source := filescan.NewFiles(parse(t, podsOfAllOutcomes), filescan.FilesOptions{})
	findings := filescan.NewFindings(false)
	policies := strings.Replace(ownerPolicy, "{name: owner}", "{name: owner, labels: {"+policy.DisabledLabel+": ''}}", 1)
	testkit.NoError(t, filescan.Run(t.Context(), source, compile(t, policies), filescan.Options{Findings: findings, Reports: reports}))
	if len(reports.set) != 0 || findings.Total().Fail != 2 {
		t.Errorf("reports have %v, the findings are %+v", reports.set, findings.Total())
	}
}

func TestAllResultsAreKeptIfAsked(t *testing.T) {
	t.Parallel()
	all := scanFiles(t, policiesOfAllOutcomes, podsOfAllOutcomes, filescan.FilesOptions{})
	if got := len(all.Kept()); got != 10 {
		t.Errorf("%d results are kept, want 10:\n%s", got, strings.Join(lines(all), "\n"))
	}
	var out bytes.Buffer
	testkit.NoError(t, all.PrintTable(&out, filescan.TableOptions{}))
	for _, part := range []string{"  skip  ClusterPolicy/owner/r1: excepted\n", "\nClusterPolicy/nothing              0 "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in\n%s", part, out.String())
		}
	}
}

// TestTableOnATerminal: lines are wrapped between words, and outcomes have colors.
func TestTableOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	const policies = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {kinds: [Pod], problem: 'öne two three a-word-that-is-longer-than-the-line four'}}"
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"
	testkit.NoError(t, scanFiles(t, policies, pod, filescan.FilesOptions{}).PrintTable(&out, filescan.TableOptions{Width: 28, Color: true}))
	want := "Pod/default/a\n  \x1b[31merror\x1b[0m ClusterPolicy/p/r:\n        öne two three\n        a-word-that-is-longer-than-the-line\n        four\n\n"
	if got, _, _ := strings.Cut(out.String(), "POLICY"); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// TestTableOfOnePlace: the resources of a list and of a cluster have their own headings, though not their own places.
func TestTableOfOnePlace(t *testing.T) {
	t.Parallel()
	const list = "{apiVersion: v1, kind: PodList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}"
	var out bytes.Buffer
	testkit.NoError(t, scanFiles(t, ownerPolicy, list, filescan.FilesOptions{}).PrintTable(&out, filescan.TableOptions{}))
	const finding = "  fail  ClusterPolicy/owner/r: the label owner is missing\n"
	if want := "Pod/default/a\n" + finding + "Pod/default/b\n" + finding; !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s, want\n%s", out.String(), want)
	}
}

// TestMessagesStayOnTheirLine: nothing that a policy says moves the cursor of a terminal.
func TestMessagesStayOnTheirLine(t *testing.T) {
	t.Parallel()
	const problem = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {kinds: [Pod], problem: \"a\\n\\tb\\e[2J\\u009bc\"}}"
	var out bytes.Buffer
	testkit.NoError(t, scanFiles(t, problem, podsOfAllOutcomes, filescan.FilesOptions{}).PrintTable(&out, filescan.TableOptions{}))
	if !strings.Contains(out.String(), "a b [2J c\n") || strings.ContainsAny(out.String(), "\x1b\u009b\t") {
		t.Errorf("table:\n%q", out.String())
	}
}

// failing gives an error of its own.
type failing struct{ err error }

func (f failing) Each(ctx context.Context, policies []policy.Policy, visit func(filescan.Item) error) error {
	return f.err
}

// blocking is a policy whose evaluation ends with ctx.
type blocking struct {
	policy.Policy

	started chan struct{}
	once    *sync.Once
}

func (b blocking) Evaluate(ctx context.Context, _ policy.Subject) ([]policy.Result, error) {
	b.once.Do(func() { close(b.started) })
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	source := filescan.NewFiles(parse(t, podsOfAllOutcomes), filescan.FilesOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	endless := blocking{compile(t, ownerPolicy)[0], make(chan struct{}), &sync.Once{}}
	go func() {
		<-endless.started
		cancel()
	}()
	if err := filescan.Run(ctx, source, []policy.Policy{endless}, filescan.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled run ends with %v", err)
	}
}

func TestErrorOfTheSourceComesBack(t *testing.T) {
	t.Parallel()
	want := errors.New("no resources today")
	if err := filescan.Run(t.Context(), failing{want}, nil, filescan.Options{}); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// seen says what was seen of a cluster.
type seen struct {
	namespaces []string
	complete   bool
}

func (s seen) Covers(subject policy.Reference) bool {
	return slices.Contains(s.namespaces, subject.Namespace)
}
func (s seen) Complete() bool { return s.complete }

// TestKeep: a scan replaces its own subject and nothing else.
func TestKeep(t *testing.T) {
	t.Parallel()
	policies := compile(t, ownerPolicy)
	mine, other := policies[0].Identity(), policy.Identity{Kind: policy.ClusterPolicy, Name: "other"}
	here, there := policy.Reference{Namespace: "here"}, policy.Reference{Namespace: "there"}
	for _, test := range []struct {
		complete, allPolicies bool
		id                    policy.Identity
		subject               policy.Reference
		keep                  bool
	}{
		{false, false, mine, here, false}, {false, false, mine, there, true},
		{false, false, other, here, true}, {true, false, other, here, true},
		{false, true, other, here, true}, {true, true, other, here, false}, {true, true, other, there, true},
	} {
		keep := filescan.Keep(policies, seen{[]string{"here"}, test.complete}, test.allPolicies)
		if got := keep(test.id, test.subject, ""); got != test.keep {
			t.Errorf("%+v: keep is %v", test, got)
		}
	}
}

// TestFilesCoverTheirNamespaces: also the place of cluster-scoped objects, if there are any.
func TestFilesCoverTheirNamespaces(t *testing.T) {
	t.Parallel()
	source := filescan.NewFiles(parse(t, podsOfAllOutcomes), filescan.FilesOptions{})
	for namespace, want := range map[string]bool{"shop": true, "default": true, "other": false, "": false} {
		if got := source.Covers(policy.Reference{Namespace: namespace}); got != want {
			t.Errorf("namespace %q is covered: %v", namespace, got)
		}
	}
	if source.Complete() {
		t.Error("files claim to be all there is")
	}
}

func TestPrintReports(t *testing.T) {
	t.Parallel()
	reports := func(names ...string) iter.Seq[report.Accessor] {
		return func(yield func(report.Accessor) bool) {
			for _, name := range names {
				one := &wgpolicy.PolicyReport{TypeMeta: metav1.TypeMeta{APIVersion: "wgpolicyk8s.io/v1alpha2", Kind: "PolicyReport"}}
				one.SetName(name)
				one.Results = []report.Result{{Policy: name, Message: "one\n\n  two: {\n", Result: report.OutcomeFail}, {Policy: "  \n\nx\n"}}
				if !yield(one) {
					return
				}
			}
		}
	}
	for _, asJSON := range []bool{true, false} {
		for _, names := range [][]string{nil, {"a", "b"}} {
			var out bytes.Buffer
			testkit.NoError(t, filescan.PrintReports(&out, reports(names...), asJSON))
			if json.Valid(out.Bytes()) != asJSON {
				t.Errorf("JSON is %v:\n%s", asJSON, out.String())
			}
			var got struct {
				APIVersion, Kind string
				Items            []wgpolicy.PolicyReport
			}
			testkit.NoError(t, yaml.UnmarshalStrict(out.Bytes(), &got))
			read := fmt.Sprint(got.APIVersion, got.Kind)
			for _, item := range got.Items {
				read += " " + item.Kind + " " + item.Name
				if len(item.Results) != 2 || item.Results[0].Message != "one\n\n  two: {\n" || item.Results[1].Policy != "  \n\nx\n" {
					t.Errorf("the results are read back as %+v", item.Results)
				}
			}
			want := "v1List"
			for _, name := range names {
				want += " PolicyReport " + name
			}
			if read != want || got.Items == nil {
				t.Errorf("read back %q (items nil: %v), want %q", read, got.Items == nil, want)
			}
		}
	}
}
