// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics/testutil"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// stored is an object as the store has it.
type stored struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	body []byte
}

func (s *stored) DeepCopyObject() runtime.Object { c := *s; return &c }
func (s *stored) Body() []byte                   { return s.body }

// objectOf reads an object that is written in YAML.
func objectOf(t testing.TB, text string) *stored {
	t.Helper()
	var s stored
	testkit.NoError(t, yaml.Unmarshal([]byte(text), &s))
	var tree map[string]any
	testkit.NoError(t, yaml.Unmarshal([]byte(text), &tree))
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(tree, name)
	}
	s.body = testkit.Must(json.Marshal(tree))(t)
	return &s
}

// example is a mapping that is right, and an object for it.
const (
	example = `mappings:
- group: example.com
  version: v1
  kind: Finding
  resource: findings
  scope: Namespaced
  source: "'Example'"
  subject:
    kind: "'Pod'"
    name: object.spec.pod
  results:
  - items: object.items
    policy: item.policy
    result: item.result
`
	found = `
apiVersion: example.com/v1
kind: Finding
metadata: {name: a, namespace: shop, uid: u1, creationTimestamp: "2026-11-28T08:00:00Z", labels: {team: blue}}
spec: {pod: web}
items:
- {policy: p, result: fail, severity: HIGH, count: 3, ratio: 0.5, sure: true, tags: [a, b], at: "2026-11-28T08:00:00+01:00", of: {kind: Deployment, name: api}}
- {policy: q, result: pass, severity: none}
`
)

// mappingOf compiles the one mapping of a file.
func mappingOf(t testing.TB, text string) *Mapping {
	t.Helper()
	all := testkit.Must(parse(compiler{}, "file.yaml", []byte(text)))(t)
	if len(all) != 1 {
		t.Fatalf("%d mappings", len(all))
	}
	return all[0]
}

// TestFields: each field takes what it should, by a path or a program.
func TestFields(t *testing.T) {
	register()
	m := mappingOf(t, example+`    rule: "[string(item.policy), 'rule'].join('-')"
    severity: item.severity
    category: [ item.missing, object.metadata.labels.team ]
    message: "'%d of %s'.format([size(object.items), object.metadata.name])"
    timestamp: item.at
    scored: item.sure
    subject: { kind: "item.?of.kind", name: "item.?of.name", uid: "has(item.of) ? 'u2' : ''" }
    properties:
      count: item.count
      ratio: item.ratio
      tags: "item.?tags.orValue([]).join('+')"
      nothing: item.of.name.first
      nobody: item.?nobody
      made: object.metadata.creationTimestamp
      kind: object.kind + ' ' + object.apiVersion
`)
	r := m.Report(objectOf(t, found))
	want := []report.Result{{
		Policy: "p", Rule: "p-rule", Result: "fail", Severity: "high", Category: "blue", Message: "2 of a", Scored: new(true),
		Timestamp: &metav1.Timestamp{Seconds: 1795849200}, Resources: []report.ObjectReference{{Kind: "Deployment", Name: "api", UID: "u2"}},
		Properties: map[string]string{"count": "3", "ratio": "0.5", "tags": "a+b", "made": "2026-11-28T08:00:00Z", "kind": "Finding example.com/v1"},
	}, {
		Policy: "q", Rule: "q-rule", Result: "pass", Category: "blue", Message: "2 of a",
		Properties: map[string]string{"made": "2026-11-28T08:00:00Z", "kind": "Finding example.com/v1"},
	}}
	// A path into a text has no fixed meaning, so that CEL says what is wrong.
	if got := r.GetResults()[0]; got.Result != "error" || !strings.Contains(got.Message, "properties.nothing") {
		t.Fatalf("a path into a text gives %+v", got)
	}
	delete(m.Results[0].Properties, "nothing")
	m.Results[0].fields = slices.DeleteFunc(m.Results[0].fields, func(f field) bool { return f.name == "properties.nothing" })
	r = m.Report(objectOf(t, found))
	testkit.NoDiff(t, cmp.Diff(want, r.GetResults()), "results (-want +got)")
	testkit.NoDiff(t, cmp.Diff(&report.ObjectReference{Kind: "Pod", Name: "web"}, r.GetScope()), "scope (-want +got)")
	testkit.NoDiff(t, cmp.Diff(report.Counts{Pass: 1, Fail: 1}.Summary(), r.GetSummary()), "summary (-want +got)")
	if r.GetSource() != "Example" || r.GetName() != "a" {
		t.Errorf("source %q, name %q", r.GetSource(), r.GetName())
	}
}

// TestItems: what gives the list of items.
func TestItems(t *testing.T) {
	for items, want := range map[string][]string{
		"object.items": {"p", "q"},
		"object.items.filter(i, i.result == 'fail')":                                  {"p"},
		"object.items + object.items":                                                 {"p", "q", "p", "q"},
		"object.items.map(i, {'policy': i.policy + '!', 'result': string(i.result)})": {"p!", "q!"},
		"object.none":                   nil,
		"object.?none":                  nil,
		"[ object.none, object.items ]": {"p", "q"},
	} {
		text := strings.Replace(example, "object.items", `"`+items+`"`, 1)
		if strings.HasPrefix(items, "[ ") {
			text = strings.Replace(example, "object.items", items, 1)
		}
		var got []string
		for _, result := range mappingOf(t, text).Report(objectOf(t, found)).GetResults() {
			got = append(got, result.Policy)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", items, got, want)
		}
	}
	texts := strings.NewReplacer("object.items", "object.items[0].tags", "item.policy", "item", "item.result", `"'fail'"`).Replace(example)
	if got := mappingOf(t, texts).Report(objectOf(t, found)).GetResults(); len(got) != 2 || got[1].Policy != "b" {
		t.Errorf("texts as items give %+v", got)
	}
}

// TestFailures: an object of which results can't be made has one that says why, and a metric counts it.
func TestFailures(t *testing.T) {
	register()
	failures.Reset()
	many := `{"items":[` + strings.Repeat(`{},`, maxResults) + `{}],"spec":{"pod":"web"}}`
	long := `{"items":[{"policy":"p","result":"fail","text":"` + strings.Repeat("x", 1<<20) + `"}` + strings.Repeat(`,{"policy":"p","result":"fail"}`, 199) + `]}`
	counted := 0.0
	for name, test := range map[string]struct{ old, new, body, want string }{
		"no key":        {"item.policy", "item.none + ''", "", "results[0].policy: no such key: none, at item 0"},
		"no policy":     {"item.policy", "item.none", "", "results[0].policy: gives nothing, and each result needs a policy, at item 0"},
		"no result":     {"item.result", "item.severity", "", `results[0].result: gives "HIGH", and must give one of pass, fail, warn, error and skip, at item 0`},
		"a list":        {"item.policy", "item.tags", "", "results[0].policy: gives a list, and must give a text, a number or a bool, at item 0"},
		"a map":         {"item.policy", "item.of", "", "results[0].policy: gives a map, and must give a text"},
		"a made map":    {"item.policy", "\"{'a': 1}\"", "", "results[0].policy: gives a map, and must give a text"},
		"no time":       {"item.policy", "item.policy\n    timestamp: item.policy", "", `results[0].timestamp: gives "p", and must give a time`},
		"no bool":       {"item.policy", "item.policy\n    scored: item.policy", "", `results[0].scored: gives "p", and must give true or false`},
		"no list":       {"object.items", "object.spec.pod", "", "results[0].items: gives a string, and must give a list"},
		"source":        {"\"'Example'\"", "object.spec", "", "source: gives a map"},
		"fixed":         {"item.policy", "object.none.key + ''", "", "results[0].policy: no such key: none"},
		"subject":       {"object.spec.pod", "object.spec", "", "subject.name: gives a map"},
		"too many":      {"", "", many, "results[0].items: gives 100001 items; an object may have 100000"},
		"too many made": {"object.items", "object.items + object.items", many, "results[0].items: gives 200002 items; an object may have 100000"},
		"in two lists":  {"", "", `{"items":[` + strings.Repeat(`{},`, 60_000) + `{}]}`, "results[1].items: with those before, gives 120002 items; an object may have 100000"},
		"too long":      {"item.policy", "item.policy\n    message: object.items[0].text", long, "results[0].message: the texts of the results have more than 64 MiB; choose fewer items, or shorter texts"},
		"costly":        {"item.policy", "\"object.items.all(a, object.items.all(b, object.items.all(c, true))) ? 'p' : 'q'\"", long, "operation cancelled: actual cost limit exceeded"},
		"costly items":  {"item.policy", "\"object.items.all(a, object.items.all(b, item.policy == 'p')) ? 'p' : 'q'\"", long, "the expressions cost more than an object may"},
		"no JSON":       {"", "", "{", "read the object: "},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(example, test.old, test.new, 1)
			if name == "in two lists" {
				text += example[strings.Index(example, "  - items"):]
				text = strings.ReplaceAll(text, "item.policy", "\"'p'\"")
				text = strings.ReplaceAll(text, "item.result", "\"'fail'\"")
			}
			m, object := mappingOf(t, text), objectOf(t, found)
			if test.body != "" {
				object.body = []byte(test.body)
			}
			r := m.Report(object)
			if len(r.GetResults()) != 1 {
				t.Fatalf("%d results", len(r.GetResults()))
			}
			got := r.GetResults()[0]
			if !strings.HasPrefix(got.Message, "The results of this Finding can't be read: ") || !strings.Contains(got.Message, test.want) {
				t.Errorf("got %q, want %q", got.Message, test.want)
			}
			got.Message = ""
			testkit.NoDiff(t, cmp.Diff(report.Result{
				Policy: "findings.example.com", Rule: "result-mapping", Result: "error",
				Resources: []report.ObjectReference{{APIVersion: "example.com/v1", Kind: "Finding", Namespace: "shop", Name: "a", UID: "u1"}},
			}, got), "result (-want +got)")
			if *r.GetSummary().Error != 1 || r.GetSource() != FailureSource || r.GetScope() != nil {
				t.Errorf("summary %+v, source %q, scope %v", r.GetSummary(), r.GetSource(), r.GetScope())
			}
			counted++
			if got := testkit.Must(testutil.GetCounterMetricValue(failures.WithLabelValues("findings.example.com")))(t); got != counted {
				t.Errorf("%v failures are counted, want %v", got, counted)
			}
		})
	}
}

// TestTrivyAsItsAdapter: what the built-in mappings make of Trivy's objects has the names and values that the
// recorded adapter gave the results of the same objects.
func TestTrivyAsItsAdapter(t *testing.T) {
	set := testkit.Must(Load())(t)
	recorded := recordedResults(t)
	compared := 0
	for document := range strings.SplitSeq(string(testkit.Must(os.ReadFile("testdata/scanned.yaml"))(t)), "\n---\n") {
		object := objectOf(t, document)
		r := set.Of(object.GroupVersionKind().GroupKind()).Report(object)
		want := recorded[object.Kind]
		if len(want) == 0 || len(r.GetResults()) != len(want) {
			t.Fatalf("%s: %d results, want %d", object.Kind, len(r.GetResults()), len(want))
		}
		for i, got := range r.GetResults() {
			if want[i].Source != nil && *want[i].Source != r.GetSource() {
				t.Errorf("source %q, want %q", r.GetSource(), *want[i].Source)
			}
			for name, value := range want[i].Properties {
				// A hash of names, a score that there is none, and messages one by one.
				if name != "resultID" && value != "0" && !strings.HasSuffix(name, ". message") && got.Properties[name] != value {
					t.Errorf("%s: property %s is %q, want %q", got.Policy, name, got.Properties[name], value)
				}
			}
			if object.Kind == "VulnerabilityReport" {
				want[i].Rule = got.Properties["resource"] // Ours alone: it tells two packages apart.
			}
			for _, r := range []*report.Result{&got, &want[i]} {
				r.Source, r.Timestamp, r.Properties = nil, nil, nil
			}
			testkit.NoDiff(t, cmp.Diff(want[i], got), "result (-adapter's +ours)")
			compared++
		}
	}
	if compared != 10 {
		t.Errorf("%d results were compared, want 10", compared)
	}
}

// recordedResults returns what the adapter wrote first, by the kind that it read.
func recordedResults(t *testing.T) map[string][]report.Result {
	t.Helper()
	results := map[string][]report.Result{}
	data := testkit.Must(os.ReadFile(filepath.Join("..", "..", "..", "test", "record", "testdata", "trivy-operator-polr-adapter-0.11.5.jsonl")))(t)
	for line := range bytes.Lines(data) {
		var exchange struct {
			Request struct {
				Method string
				Body   struct {
					Metadata struct{ Labels map[string]string }
					Results  []report.Result
				}
			}
		}
		testkit.NoError(t, json.Unmarshal(line, &exchange))
		kind := exchange.Request.Body.Metadata.Labels["trivy-operator.source"]
		if exchange.Request.Method == "POST" && results[kind] == nil {
			results[kind] = exchange.Request.Body.Results
		}
	}
	return results
}

// TestTrivySubjects: what was scanned is the owner, or what the labels name.
func TestTrivySubjects(t *testing.T) {
	set := testkit.Must(Load())(t)
	const head = "apiVersion: aquasecurity.github.io/v1alpha1\nkind: VulnerabilityReport\nreport: {vulnerabilities: []}\nmetadata:\n  name: a\n  namespace: shop\n"
	for name, test := range map[string]struct {
		meta string
		want report.ObjectReference
	}{
		"owner": {
			"  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u1}]\n  labels: {trivy-operator.resource.kind: Pod, trivy-operator.resource.name: other}",
			report.ObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "web", UID: "u1"},
		},
		"labels":     {"  labels: {trivy-operator.resource.kind: Pod, trivy-operator.resource.name: web}", report.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web"}},
		"annotation": {"  annotations: {trivy-operator.resource.name: 'system:node'}", report.ObjectReference{Namespace: "shop", Name: "system:node"}},
	} {
		object := objectOf(t, head+test.meta)
		testkit.NoDiff(t, cmp.Diff(&test.want, set.Of(object.GroupVersionKind().GroupKind()).Report(object).GetScope()), "%s: subject (-want +got)", name)
	}
}

// TestBuiltIn: Trivy's kinds that have results have a mapping.
func TestBuiltIn(t *testing.T) {
	set := testkit.Must(Load())(t)
	var names []string
	for _, kind := range set.Kinds() {
		names = append(names, kind.Kind)
		if kind.Namespaced == strings.HasPrefix(kind.Kind, "Cluster") || kind.Resource != strings.ToLower(kind.Kind)+"s" {
			t.Errorf("%+v", kind)
		}
	}
	want := []string{
		"ClusterConfigAuditReport", "ClusterInfraAssessmentReport", "ClusterRbacAssessmentReport", "ClusterVulnerabilityReport", "ConfigAuditReport",
		"ExposedSecretReport", "InfraAssessmentReport", "RbacAssessmentReport", "VulnerabilityReport",
	}
	testkit.NoDiff(t, cmp.Diff(want, names), "kinds (-want +got)")
	if set.Of(schema.GroupKind{Group: "aquasecurity.github.io", Kind: "SbomReport"}) != nil || (*Set)(nil).Of(schema.GroupKind{}) != nil || (*Set)(nil).Kinds() != nil {
		t.Error("there are mappings of kinds that have none")
	}
}

func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestLoad: files and folders, and what takes the place of what is built in.
func TestLoad(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.yaml", example)
	write(t, folder, "notes.txt", "no mapping")
	own := strings.NewReplacer("example.com", "aquasecurity.github.io", "Finding", "ConfigAuditReport", "findings", "configauditreports").Replace(example)
	file := write(t, t.TempDir(), "own.yaml", own)
	set := testkit.Must(Load(folder, file))(t)
	if set.Of(schema.GroupKind{Group: "example.com", Kind: "Finding"}) == nil || len(set.Kinds()) != 10 {
		t.Errorf("kinds are %v", set.Kinds())
	}
	replaced := set.Of(schema.GroupKind{Group: "aquasecurity.github.io", Kind: "ConfigAuditReport"})
	if got := *replaced.Source[0].constant; got != "Example" {
		t.Errorf("the mapping that is built in has not been replaced: its source is %s", got)
	}
	for name, test := range map[string]struct {
		paths []string
		want  string
	}{
		"twice":   {[]string{folder, write(t, t.TempDir(), "b.yaml", example)}, "b.yaml: Finding.example.com has a mapping in " + filepath.Join(folder, "a.yaml") + " already; leave one of them out"},
		"missing": {[]string{"nowhere.yaml"}, "nowhere.yaml: no such file"},
		"report":  {[]string{write(t, t.TempDir(), "c.yaml", strings.ReplaceAll(example, "Finding", "Report"))}, "the kind Report of example.com can't have a mapping: results name only the kind, and openreports.io has one of this name"},
		"same":    {[]string{write(t, t.TempDir(), "d.yaml", strings.ReplaceAll(own, "aquasecurity.github.io", "example.com"))}, "results name only the kind, and aquasecurity.github.io has one"},
	} {
		if _, err := Load(test.paths...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// TestDigest: it is another one if what a mapping says is, and only then.
func TestDigest(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	digest := func(pairs ...string) string {
		file := write(t, folder, "m.yaml", strings.NewReplacer(pairs...).Replace(example))
		return testkit.Must(testkit.Must(Load(file))(t).Digest(schema.GroupKind{Group: "example.com", Kind: "Finding"}))(t)
	}
	same := digest()
	if again := digest("mappings:", "# A comment.\nmappings:"); same == "" || again != same {
		t.Errorf("the digest of the same mapping is %s, was %s", again, same)
	}
	seen := map[string]bool{same: true}
	for _, change := range [][]string{
		{"item.policy", "item.name"}, {"object.items", "object.others"}, {"'Example'", "'Other'"}, {"object.spec.pod", "object.spec.node"},
	} {
		if got := digest(change...); seen[got] {
			t.Errorf("%q does not change the digest", change)
		} else {
			seen[got] = true
		}
	}
	if got := testkit.Must(testkit.Must(Load())(t).Digest(schema.GroupKind{Group: "example.com", Kind: "Finding"}))(t); got != "" {
		t.Errorf("without a mapping the digest is %q", got)
	}
}
