// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/docket-project/docket/test/e2e/harness"
)

// audit says at the end of a measurement whether what was measured is still there and as it was made, whether anybody
// else wrote to it, and whether an answer was an error. A benchmark once measured pods that kube-controller-manager
// was deleting all the time.
type audit struct {
	b       *testing.B
	cluster *harness.Cluster
	docket  *harness.Replica // Or nil.

	before map[call]int
	// expected are the writes of the benchmark and of what it measures, by resource and verbs.
	expected map[string]map[string]int
	// made are the objects in etcd, by their keys, as they should be; prefixes are where they are.
	made     map[string]object
	prefixes []string
}

// call is what requests have in common that servers count together.
type call struct{ resource, verb, code string }

// object is what etcd says about one. Whatever changes it, a deletion that waits for something included, makes
// another version; one that takes the place of a deleted object has another creation.
type object struct{ creation, version int64 }

// newAudit begins to count.
func newAudit(b *testing.B, c *harness.Cluster, docket *harness.Replica) *audit {
	b.Helper()
	a := &audit{b: b, cluster: c, docket: docket, expected: map[string]map[string]int{}, made: map[string]object{}}
	a.before = a.calls()
	return a
}

// calls are the requests that kube-apiserver and Docket have answered.
func (a *audit) calls() map[call]int {
	a.b.Helper()
	texts := []string{a.cluster.Kubectl(a.b, "default").Run(a.b, "get", "--raw", "/metrics")}
	if a.docket != nil {
		texts = append(texts, a.docket.Metrics(a.b))
	}
	sum := map[call]int{}
	for _, text := range texts {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			a.b.Fatal(err)
		}
		for _, series := range families["apiserver_request_total"].GetMetric() {
			label := map[string]string{}
			for _, pair := range series.GetLabel() {
				label[pair.GetName()] = pair.GetValue()
			}
			resource := strings.TrimSuffix(label["resource"]+"."+label["group"], ".")
			if label["subresource"] != "" {
				resource += "/" + label["subresource"]
			}
			sum[call{resource, label["verb"], label["code"]}] += int(series.GetCounter().GetValue())
		}
	}
	return sum
}

// expect adds to the writes that a resource should get with some verbs, which are separated by commas. It should get
// no others.
func (a *audit) expect(resource, verbs string, n int) {
	if a.expected[resource] == nil {
		a.expected[resource] = map[string]int{}
	}
	a.expected[resource][verbs] += n
}

// keep has the n objects whose keys in etcd begin with a prefix stay as they are.
func (a *audit) keep(resource, prefix string, n int) {
	a.b.Helper()
	found := a.stored(prefix)
	if len(found) != n {
		a.b.Fatalf("etcd has %d objects below %s, want %d", len(found), prefix, n)
	}
	maps.Copy(a.made, found)
	a.prefixes = append(a.prefixes, prefix)
	a.expect(resource, "POST", 0)
}

// changed notes that the benchmark has changed an object, or has created one later than others.
func (a *audit) changed(key string) {
	o := a.made[key]
	o.version++
	a.made[key] = o
}

// stored are the objects in etcd below a prefix.
func (a *audit) stored(prefix string) map[string]object {
	a.b.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{a.cluster.EtcdURL()}, Logger: zap.NewNop()})
	if err != nil {
		a.b.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	answer, err := client.Get(a.b.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		a.b.Fatal(err)
	}
	found := map[string]object{}
	for _, kv := range answer.Kvs {
		found[string(kv.Key)] = object{kv.CreateRevision, kv.Version}
	}
	return found
}

// end fails the benchmark if something is not as it should be, and returns the counts, which belong beside the
// figures. Calls that are tolerated are errors that a program gets in its usual work; their resource may be empty for
// all. So is 429 to a watch: the first one of a new kind of custom resource has to come again.
func (a *audit) end(tolerated ...call) string {
	a.b.Helper()
	a.compareObjects()
	answered := a.calls()
	for c, n := range a.before {
		answered[c] -= n
	}
	maps.DeleteFunc(answered, func(_ call, n int) bool { return n == 0 })
	a.compareWrites(answered)
	for c, n := range answered {
		if c.code >= "400" && (c.verb != "WATCH" || c.code != "429") && !slices.Contains(tolerated, c) && !slices.Contains(tolerated, call{"", c.verb, c.code}) {
			a.b.Errorf("%d answers %s to %s of %s", n, c.code, c.verb, cmp.Or(c.resource, "what is no resource"))
		}
	}
	return describe(answered)
}

func (a *audit) compareObjects() {
	a.b.Helper()
	found, problems := map[string]object{}, []string{}
	for _, prefix := range a.prefixes {
		maps.Copy(found, a.stored(prefix))
	}
	for key, want := range a.made {
		have, there := found[key]
		switch {
		case !there:
			problems = append(problems, key+" is gone")
		case want.creation != 0 && have.creation != want.creation:
			problems = append(problems, key+" is another one")
		case have.version != want.version:
			problems = append(problems, fmt.Sprintf("%s has changed %d times more than it should", key, have.version-want.version))
		}
	}
	for key := range found {
		if _, expected := a.made[key]; !expected {
			problems = append(problems, key+" is new")
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		a.b.Errorf("%d of %d measured objects are not as they were made: %s …", len(problems), len(a.made), strings.Join(problems[:min(3, len(problems))], ", "))
	}
}

// compareWrites compares the writes that succeeded with those that were expected.
func (a *audit) compareWrites(answered map[call]int) {
	a.b.Helper()
	for resource, expected := range a.expected {
		written := map[string]int{}
		for c, n := range answered {
			if c.resource == resource && writes(c) && c.code < "400" {
				written[c.verb] += n
			}
		}
		for verbs, want := range expected {
			got := 0
			for verb := range strings.SplitSeq(verbs, ",") {
				got += written[verb]
				delete(written, verb)
			}
			if got != want {
				a.b.Errorf("%s: %d writes by %s, and %d were to be sent: somebody else writes, or a write is missing", resource, got, verbs, want)
			}
		}
		if len(written) > 0 {
			a.b.Errorf("%s: somebody else writes: %v", resource, written)
		}
	}
}

// writes reports whether a call is one that may change something.
func writes(c call) bool { return !slices.Contains([]string{"GET", "LIST", "WATCH"}, c.verb) }

// describe sums calls up: all by verb, writes by resource, and errors.
func describe(answered map[call]int) string {
	verbs, written, failed := map[string]int{}, map[string]int{}, map[string]int{}
	for c, n := range answered {
		verbs[c.verb] += n
		if writes(c) {
			written[c.resource+" "+c.verb] += n
		}
		if c.code >= "400" {
			failed[c.resource+" "+c.verb+" "+c.code] += n
		}
	}
	list := func(counts map[string]int) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
		}
		return cmp.Or(strings.Join(parts, ", "), "none")
	}
	return fmt.Sprintf("%s; writes: %s; errors: %s", list(verbs), list(written), list(failed))
}
