// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
	"github.com/docket-project/docket/test/e2e/workload"
)

const (
	// firstPods are there before any trouble; morePods come with each.
	firstPods, morePods = 30, 5
	// databaseAway is how long PostgreSQL is away.
	databaseAway = 20 * time.Second
)

// troubled are two replicas on one database, and programs that use them.
type troubled struct {
	*fleet

	postgres  *testenv.Dedicated
	kyverno   *kyvernoRun
	process   *harness.Operator
	informers []*informer
	runtime   runtimeOf
	gitops    *gitopsOf
	// followers are in other languages, by the name of the language.
	followers map[string]*harness.Follower
	pods      int
}

// TestProgramsInTrouble has programs of others run through a rolling restart of two
// replicas, the sudden end of one, and a while without PostgreSQL. While each lasts, there
// is something for them to do. At the end all have done all of it, none has ended, and
// their caches are what the server has.
func TestProgramsInTrouble(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	p := startTroubled(t)
	troubles := map[string]func(){"a rolling restart": p.restart, "a sudden end": p.crash, "PostgreSQL away": p.withoutDatabase}
	for _, name := range slices.Sorted(maps.Keys(troubles)) {
		var group sync.WaitGroup
		group.Go(troubles[name])
		p.work(t, name)
		group.Wait()
		t.Logf("%s is over", name)
	}
	p.check(t)
}

func startTroubled(t *testing.T) *troubled {
	t.Helper()
	p := &troubled{postgres: testenv.NewPostgres(t), pods: firstPods}
	c := harness.StartCluster(t)
	p.process = harness.NewKyverno(t, c)
	p.fleet = &fleet{cluster: c, database: p.postgres.Database(t)}
	for range 2 {
		p.replicas = append(p.replicas, p.start(t))
	}
	p.balancer = harness.NewBalancer(t, p.replicas...)
	c.Register(t, p.balancer.Port)
	p.kyverno = newKyvernoRun(t, c, p.pods)
	p.kyverno.kubectl.RunInput(t, workload.PodSecurity(t), "apply", "-f", "-")
	p.kyverno.createPods(c)
	p.process.Start(t)
	config := c.RESTConfig(t)
	config.QPS = -1
	p.informers = startInformers(t, config, sample.Kinds())
	p.runtime = runtimeOf{t: t, cluster: startRuntime(t, config), kind: sample.Kinds()[0], namespace: workload.Namespace(0)}
	c.EnsureNamespace(t, "gitops")
	p.gitops = startGitops(t, config, "gitops")
	p.gitops.application = "client-side"
	p.gitops.kinds = slices.DeleteFunc(sample.Kinds(), func(k sample.Kind) bool { return strings.Contains(k.Kind, "Ephemeral") }) // Kyverno deletes those.
	p.followers = map[string]*harness.Follower{
		"Python":  harness.PythonScript(t).Follow(t, c, p.runtime.kind.Resource),
		"Node.js": harness.NodeScript(t).Follow(t, c, p.runtime.kind.Resource),
	}
	p.kyverno.after("the first scan", p.complete)
	return p
}

// complete reports whether Kyverno's reports are about all pods and rules.
func (p *troubled) complete(sum tally) bool {
	return sum.reports == p.pods && sum.results == int64(p.pods*workload.RulesPerPod)
}

// restart replaces each replica, as a Deployment does.
func (p *troubled) restart() {
	t := p.kyverno.t
	for i, old := range p.replicas {
		p.replicas[i] = p.start(t)
		p.balancer.Add(p.replicas[i])
		p.balancer.Retire(t, old)
	}
}

func (p *troubled) crash() {
	t := p.kyverno.t
	p.balancer.Crash(t, p.replicas[0])
	p.replicas[0] = p.start(t)
	p.balancer.Add(p.replicas[0])
}

func (p *troubled) withoutDatabase() {
	t := p.kyverno.t
	p.postgres.Kill(t)
	select {
	case <-time.After(databaseAway):
	case <-t.Context().Done():
	}
	p.postgres.Start(t)
}

// work gives the programs something to do, and does again what fails, as Argo CD does.
func (p *troubled) work(t *testing.T, trouble string) {
	t.Helper()
	for range morePods {
		pod := workload.NewPod(p.pods)
		testkit.Must(p.kyverno.core.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}))(t)
		p.pods++
	}
	reports := p.gitops.manifests(labelled(fmt.Sprint(p.pods)))
	waitSettled(t, 100*time.Millisecond, func() string {
		if err := p.gitops.sync(trouble, reports); err != nil {
			return err.Error()
		}
		return ""
	})
	report := p.byHand(t)
	waitSettled(t, 100*time.Millisecond, func() string {
		if applied := p.kyverno.kubectl.Try(t, report, "apply", "-f", "-"); applied.Code != 0 {
			return applied.Stderr
		}
		return ""
	})
}

// rescan has Kyverno look at all pods again, as it does by itself each hour. What it scans in the
// moment in which its watch of ephemeral reports is reopened, it drops, with whatever server: its
// circuit breaker is open then (docs/produce/kyverno.md).
func (p *troubled) rescan() {
	for i := range p.pods {
		p.kyverno.setLabel(i, "scan", `"again"`)
	}
}

// byHand is a report that somebody applies with kubectl, another one with each trouble.
func (p *troubled) byHand(t *testing.T) string {
	t.Helper()
	return reportText(t, p.runtime.kind, "by-hand", labelled(fmt.Sprint(p.pods)))
}

func (p *troubled) check(t *testing.T) {
	t.Helper()
	p.cluster.WaitAvailable(t)
	p.rescan()
	p.kyverno.after("all trouble", p.complete)
	if !p.process.Alive() {
		t.Error("Kyverno has ended")
	}
	for _, i := range p.informers {
		waitSettled(t, 100*time.Millisecond, func() string {
			return storedProblem(i.stored(), p.list(t, i.kind))
		})
	}
	waitSettled(t, 100*time.Millisecond, func() string {
		cached := p.runtime.empty()
		list := &unstructured.UnstructuredList{Object: cached.Object}
		list.SetKind(cached.GetKind() + "List")
		if err := p.runtime.cluster.GetClient().List(t.Context(), list); err != nil {
			return err.Error()
		}
		stored := map[string]string{}
		for i := range list.Items {
			stored[list.Items[i].GetNamespace()+"/"+list.Items[i].GetName()] = list.Items[i].GetResourceVersion()
		}
		return storedProblem(stored, p.list(t, p.runtime.kind))
	})
	p.gitops.wantNoDifference(labelled(fmt.Sprint(p.pods)))
	for language, f := range p.followers {
		if !f.Alive() {
			t.Errorf("the script in %s has ended", language)
		}
		waitSettled(t, 100*time.Millisecond, func() string {
			versions, err := f.Versions()
			if err != nil {
				return err.Error()
			}
			if problem := storedProblem(versions, p.list(t, p.runtime.kind)); problem != "" {
				return language + ": " + problem
			}
			return ""
		})
	}
	if diff := p.kyverno.kubectl.Try(t, p.byHand(t), "diff", "-f", "-"); diff.Code != 0 {
		t.Errorf("what was applied by hand differs:\n%s%s", diff.Stdout, diff.Stderr)
	}
}

func (p *troubled) list(t *testing.T, kind sample.Kind) *unstructured.UnstructuredList {
	t.Helper()
	return testkit.Must(newReports(t, p.cluster, kind, "").List(t.Context(), metav1.ListOptions{}))(t)
}
