// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/crddiff"
	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	// crddiffTimeVariable is how long each engine is compared, crddiffSeedVariable what to repeat.
	crddiffTimeVariable, crddiffSeedVariable = "DOCKET_CRDDIFF_TIME", "DOCKET_CRDDIFF_SEED"

	// Without them so many cases and sequences of one seed are run on each engine, always the
	// same: some two minutes for both. Chance belongs to the runs by hand. In make test it is a third of them.
	crddiffSeed          = 1
	crddiffCases         = 1500
	crddiffSequenceCount = 24
	crddiffShortShare    = 3

	crddiffNamespace = "crddiff"
	crddiffWorkers   = 3
	crddiffPatience  = time.Minute
	// A fourth of the time by hand is for sequences of operations with watches.
	crddiffSequenceShare = 4
)

// TestCRDDiff sends random requests to the published CustomResourceDefinitions and to Docket, on both
// engines, and compares the answers: no client can tell one from the other.
func TestCRDDiff(t *testing.T) {
	t.Parallel()
	definitions := publishedDefinitions(t)
	kinds := kindsOf(t, definitions)
	reference := harness.StartCluster(t)
	reference.Install(t, definitions)
	left := crddiffTarget(t, "custom resources", reference, reference.RESTConfig(t))
	cluster := harness.StartCluster(t)
	work := crddiffWorkOf(t)
	for _, engine := range []struct {
		name      string
		arguments func() []string
	}{
		{"sqlite", func() []string { return nil }},
		{"postgres", func() []string { return []string{"--database", testenv.Postgres(t).Database(t)} }},
	} {
		t.Run(engine.name, func(t *testing.T) {
			if engine.name == "postgres" {
				testkit.Full(t)
			}
			replica := cluster.Serve(t, engine.arguments()...)
			cluster.Register(t, replica.Port)
			right := crddiffTarget(t, "docket", cluster, cluster.RESTConfig(t))
			d := differ{
				runner: &crddiff.Runner{Left: left, Right: right, Namespace: crddiffNamespace, Prefix: engine.name + "-", Known: knownAs},
				kinds:  kinds, crddiffWork: work, known: map[string]int{},
			}
			t.Run("documents", d.documents)
			t.Run("cases", d.cases)
			t.Run("sequences", d.sequences)
			t.Run("explain", func(t *testing.T) { crddiffExplain(t, reference, cluster, kinds) })
			for _, known := range knownDifferences() {
				if d.known[known.row] == 0 {
					t.Logf("no request showed the difference %s: if that stays so, take it off docs/produce/differences.md", known.row)
				}
			}
		})
	}
}

func publishedDefinitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definitions := testkit.Must(crddiff.ReadDefinitions([]string{"wgpolicyk8s.io", "openreports.io", "reports.kyverno.io"}, harness.PublishedCRDFolders(t)...))(t)
	return definitions
}

func kindsOf(t *testing.T, definitions []*apiextensionsv1.CustomResourceDefinition) []crddiff.Kind {
	t.Helper()
	var kinds []crddiff.Kind
	for _, definition := range definitions {
		kind := testkit.Must(crddiff.KindOf(definition))(t)
		kinds = append(kinds, kind)
	}
	if len(kinds) != 6 {
		t.Fatalf("%d kinds, want 6", len(kinds))
	}
	return kinds
}

// crddiffTarget returns a server with what cases need in it.
func crddiffTarget(t *testing.T, name string, c *harness.Cluster, config *rest.Config) *crddiff.Target {
	t.Helper()
	c.EnsureNamespace(t, crddiffNamespace)
	maps := c.Client(t).CoreV1().ConfigMaps(crddiffNamespace)
	owner, err := maps.Get(t.Context(), "owner", metav1.GetOptions{})
	if err != nil {
		owner, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return testkit.Must(crddiff.NewTarget(name, config, string(owner.UID)))(t)
}

// crddiffWork is how much is compared.
type crddiffWork struct {
	seed                     uint64
	caseLimit, sequenceLimit uint64        // 0: no limit
	duration                 time.Duration // 0: no limit
}

// crddiffWorkOf returns what the environment says, or the usual work. Who gives a time and no seed
// gets a new one.
func crddiffWorkOf(t *testing.T) crddiffWork {
	t.Helper()
	work := crddiffWork{seed: crddiffSeed, caseLimit: crddiffCases, sequenceLimit: crddiffSequenceCount}
	if testing.Short() {
		work.caseLimit, work.sequenceLimit = crddiffCases/crddiffShortShare, crddiffSequenceCount/crddiffShortShare
	}
	var err error
	if text := os.Getenv(crddiffTimeVariable); text != "" {
		work = crddiffWork{seed: rand.Uint64N(1 << 32)}
		if work.duration, err = time.ParseDuration(text); err != nil || work.duration <= 0 {
			t.Fatalf("%s=%s: give a duration such as 60s or 1h", crddiffTimeVariable, text)
		}
	}
	if text := os.Getenv(crddiffSeedVariable); text != "" {
		if work.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s=%s: give a whole number: %v", crddiffSeedVariable, text, err)
		}
	}
	return work
}

// differ compares one engine.
type differ struct {
	crddiffWork

	runner *crddiff.Runner
	kinds  []crddiff.Kind
	known  map[string]int
}

func (d *differ) documents(t *testing.T) {
	var news []crddiff.Difference
	// The aggregator takes its time to merge the documents of servers.
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, crddiffPatience, true, func(ctx context.Context) (bool, error) {
		differences, err := d.runner.CompareDocuments(ctx, d.kinds)
		news = slices.DeleteFunc(differences, func(difference crddiff.Difference) bool {
			known := knownAs(crddiff.Seen{Difference: difference})
			if known != "" {
				d.known[known]++
			}
			return known != ""
		})
		return len(news) == 0, err
	})
	if err != nil && !wait.Interrupted(err) {
		t.Fatal(err)
	}
	for _, difference := range news {
		t.Errorf("%s\n  custom resources: %s\n  docket:           %s", difference.Path, difference.Left, difference.Right)
	}
}

func (d *differ) cases(t *testing.T) {
	ctx := t.Context()
	if d.duration > 0 {
		limited, cancel := context.WithTimeout(ctx, d.duration)
		defer cancel()
		ctx = limited
	}
	report := testkit.Must(d.runner.RunMany(ctx, d.kinds, d.seed, d.caseLimit, crddiffWorkers))(t)
	for row, count := range report.Known {
		d.known[row] += count
	}
	t.Logf("%s=%d: %d cases, %d requests to each server; known differences: %v", crddiffSeedVariable, d.seed, report.Cases, report.Requests, report.Known)
	for _, signature := range report.Signatures() {
		group := report.Groups[signature]
		t.Errorf("%d times: %s\n%s", group.Count, signature, group.First)
	}
}

func (d *differ) sequences(t *testing.T) {
	started, number := time.Now(), uint64(0)
	more := func() bool {
		if d.duration > 0 {
			return time.Since(started) < d.duration/crddiffSequenceShare
		}
		return number < d.sequenceLimit
	}
	for ; more(); number++ {
		found := testkit.Must(d.runner.RunSequence(t.Context(), d.kinds[number%uint64(len(d.kinds))], d.seed, number))(t)
		for row, count := range found.Known {
			d.known[row] += count
		}
		if len(found.Differences) > 0 {
			t.Errorf("%s=%d, sequence %d: %s", crddiffSeedVariable, d.seed, number, found)
		}
	}
	t.Logf("%s=%d: %d sequences", crddiffSeedVariable, d.seed, number)
}

// crddiffExplain compares the fields and types that kubectl explain shows.
func crddiffExplain(t *testing.T, reference, cluster *harness.Cluster, kinds []crddiff.Kind) {
	left, right := reference.Kubectl(t, crddiffNamespace), cluster.Kubectl(t, crddiffNamespace)
	for _, kind := range kinds {
		fields := func(k *harness.Kubectl) string {
			output := k.Run(t, "explain", kind.Resource, "--recursive", "--api-version", kind.APIVersion())
			_, after, _ := strings.Cut(output, "FIELDS:")
			return after
		}
		if a, b := fields(left), fields(right); a != b {
			t.Errorf("kubectl explain %s\ncustom resources: %s\ndocket: %s", kind.Resource, a, b)
		}
	}
}

// rereadCases are run on each engine if DOCKET_CRDDIFF_TIME does not say for how long.
const rereadCases = 500

// TestReread: reports that go out as they are stored have the same bytes as those that are decoded first, whatever
// is written, and however it is read. Requests are random, as those of TestCRDDiff, with the same variables.
func TestReread(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	kinds := kindsOf(t, publishedDefinitions(t))
	work := crddiffWorkOf(t)
	for engine, arguments := range map[string]func() []string{
		"sqlite":   func() []string { return nil },
		"postgres": func() []string { return []string{"--database", testenv.Postgres(t).Database(t)} },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			reader := &crddiff.Rereader{Target: upTarget(t, harness.Up(t, arguments()...)), Namespace: crddiffNamespace}
			started, number := time.Now(), uint64(0)
			more := func() bool {
				if work.duration > 0 {
					return time.Since(started) < work.duration
				}
				return number < rereadCases
			}
			for ; more(); number++ {
				found := testkit.Must(reader.Run(t.Context(), crddiff.NewCase(kinds[number%uint64(len(kinds))], work.seed, number)))(t)
				for _, difference := range found {
					t.Error(difference)
				}
			}
			t.Logf("%s=%d: %d cases, %d pairs of answers", crddiffSeedVariable, work.seed, number, reader.Compared())
		})
	}
}

// upTarget returns a server of its own, with the namespace of cases in it.
func upTarget(t *testing.T, server *harness.Server) *crddiff.Target {
	t.Helper()
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", server.Kubeconfig()))(t)
	client := testkit.Must(kubernetes.NewForConfig(config))(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: crddiffNamespace}}
	made := testkit.Must(client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}))(t)
	return testkit.Must(crddiff.NewTarget("docket", config, string(made.UID)))(t)
}
