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
	crddiffPatience  = 2 * time.Minute // The aggregator retries after one.
	// A fourth of the time by hand is for sequences of operations with watches.
	crddiffSequenceShare = 4
)

// TestCRDDiff sends random requests to the published CustomResourceDefinitions and to Docket, on both
// engines, and compares the answers: no client can tell one from the other.
func TestCRDDiff(t *testing.T) {
	t.Parallel()
	c := newCRDComparison(t, publishedDefinitions(t), crddiffWorkOf(t, crddiffCases, crddiffSequenceCount))
	for engine, arguments := range crddiffEngines() {
		t.Run(engine, func(t *testing.T) {
			d := c.withDocket(t, engine, arguments(t)...)
			d.all(t)
			for _, known := range knownDifferences() {
				if d.known[known.row] == 0 {
					t.Logf("no request showed the difference %s: if that stays so, also in TestCRDDiffDefinitions, take it off docs/produce/differences.md", known.row)
				}
			}
		})
	}
}

// crddiffEngines are the databases to compare on, with further arguments of docket serve.
func crddiffEngines() map[string]func(*testing.T) []string {
	return map[string]func(*testing.T) []string{
		"sqlite": func(*testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string {
			testkit.Full(t)
			return []string{"--database", testenv.Postgres(t).Database(t)}
		},
	}
}

// crdComparison is a control plane that serves definitions as custom resources, and one to serve them otherwise.
type crdComparison struct {
	crddiffWork

	kinds              []crddiff.Kind
	reference, cluster *harness.Cluster
	left               *crddiff.Target
}

func newCRDComparison(t *testing.T, definitions []*apiextensionsv1.CustomResourceDefinition, work crddiffWork) *crdComparison {
	t.Helper()
	c := &crdComparison{crddiffWork: work, kinds: kindsOf(t, definitions), reference: harness.StartCluster(t), cluster: harness.StartCluster(t)}
	c.reference.Install(t, definitions)
	c.left = crddiffTarget(t, "custom resources", c.reference, c.reference.RESTConfig(t))
	return c
}

// withDocket serves the kinds by docket serve with some arguments.
func (c *crdComparison) withDocket(t *testing.T, name string, arguments ...string) *differ {
	t.Helper()
	replica := c.cluster.Serve(t, arguments...)
	var versions []metav1.GroupVersion
	for _, kind := range c.kinds {
		versions = append(versions, metav1.GroupVersion{Group: kind.Group, Version: kind.Version})
	}
	c.cluster.Register(t, replica.Port, versions...)
	return c.with(t, name, "docket", knownAs)
}

// with compares with what the other control plane serves now.
func (c *crdComparison) with(t *testing.T, name, server string, known func(crddiff.Seen) string) *differ {
	t.Helper()
	right := crddiffTarget(t, server, c.cluster, c.cluster.RESTConfig(t))
	return &differ{
		crdComparison: c, known: map[string]int{},
		runner: &crddiff.Runner{Left: c.left, Right: right, Namespace: crddiffNamespace, Prefix: name + "-", Known: known},
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
		kinds = append(kinds, testkit.Must(crddiff.KindsOf(definition))(t)...)
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
func crddiffWorkOf(t *testing.T, cases, sequences uint64) crddiffWork {
	t.Helper()
	work := crddiffWork{seed: crddiffSeed, caseLimit: cases, sequenceLimit: sequences}
	if testing.Short() {
		work.caseLimit, work.sequenceLimit = cases/crddiffShortShare, sequences/crddiffShortShare
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
	*crdComparison

	runner *crddiff.Runner
	known  map[string]int
}

func (d *differ) all(t *testing.T) {
	t.Helper()
	t.Run("documents", d.documents)
	t.Run("cases", d.cases)
	t.Run("sequences", d.sequences)
	t.Run("explain", d.explain)
}

func (d *differ) documents(t *testing.T) {
	var news []crddiff.Difference
	// The aggregator takes its time to merge the documents of servers.
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, crddiffPatience, true, func(ctx context.Context) (bool, error) {
		differences, err := d.runner.CompareDocuments(ctx, d.kinds)
		if err != nil {
			return false, err // The end of the time must not hide earlier findings.
		}
		news = slices.DeleteFunc(differences, func(difference crddiff.Difference) bool {
			known := d.runner.Known(crddiff.Seen{Difference: difference})
			if known != "" {
				d.known[known]++
			}
			return known != ""
		})
		return len(news) == 0, nil
	})
	if err != nil && len(news) == 0 {
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
	for _, kind := range d.kinds {
		if name := kind.APIVersion() + " " + kind.Resource; report.Accepted[name] == 0 {
			t.Errorf("%s: nothing was accepted, so next to nothing was compared", name)
		}
	}
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

// explain compares the fields and types that kubectl explain shows.
func (d *differ) explain(t *testing.T) {
	left, right := d.reference.Kubectl(t, crddiffNamespace), d.cluster.Kubectl(t, crddiffNamespace)
	for _, kind := range d.kinds {
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
	work := crddiffWorkOf(t, rereadCases, 0)
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
