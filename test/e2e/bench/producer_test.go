// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
	"github.com/docket-project/docket/test/e2e/workload"
)

// producerPods are what Kyverno reports on.
const producerPods = 1000

// home is where a cluster has its reports. start returns Docket and its database, as far as it takes them.
type home struct {
	name  string
	start func(*testing.B, *harness.Cluster) (docket *harness.Replica, database *testenv.Dedicated)
}

func homes() []home {
	return []home{
		{"CRDs in etcd", func(b *testing.B, c *harness.Cluster) (*harness.Replica, *testenv.Dedicated) {
			b.Helper()
			c.InstallKyvernoReportCRDs(b)
			return nil, nil
		}},
		{"Docket, SQLite", func(b *testing.B, c *harness.Cluster) (*harness.Replica, *testenv.Dedicated) {
			b.Helper()
			return registered(b, c), nil
		}},
		{"Docket, PostgreSQL", func(b *testing.B, c *harness.Cluster) (*harness.Replica, *testenv.Dedicated) {
			b.Helper()
			database := testenv.NewPostgres(b)
			return registered(b, c, "--database", database.Database(b)), database
		}},
	}
}

// BenchmarkProducer prints what Kyverno's reports controller, unmodified, costs a control
// plane with each home of reports: processor time, and how soon its reports are complete.
func BenchmarkProducer(b *testing.B) {
	for b.Loop() {
		fmt.Println("| | kube-apiserver | etcd | Docket | database | total | complete after the last pod | after an additional rule |\n|---|---|---|---|---|---|---|---|")
		for _, h := range homes() {
			b.Run(h.name, func(b *testing.B) { benchProducer(b, h) })
		}
	}
}

func benchProducer(b *testing.B, h home) {
	c := harness.StartCluster(b, harness.Durable)
	p := &peer{scanned: scanned{b: b, cluster: c, kubectl: c.Kubectl(b, "default")}, kyverno: harness.NewKyverno(b, c)}
	processes := map[string]int{"kube-apiserver": c.APIServerPID(), "etcd": c.EtcdPID()}
	docket, database := h.start(b, c)
	if p.docket = docket; docket != nil {
		processes["Docket"] = docket.PID()
	}
	if database != nil {
		processes["database"] = database.PID()
	}
	p.connect()
	p.kubectl.RunInput(b, workload.PodSecurity(b), "apply", "-f", "-")
	reports := follow(b, p.dynamic, "wgpolicyk8s.io/v1alpha2", "policyreports")
	ephemeral := follow(b, p.dynamic, "reports.kyverno.io/v1", "ephemeralreports")
	p.kyverno.Start(b)
	events := func() [2]int64 { return [2]int64{reports.events.Load(), ephemeral.events.Load()} }
	untilQuiet(b, settled, events) // It has no probe.
	p.begin(0, podSecurityPolicies, 0)
	before := processorTimes(b, processes)

	p.pods(producerPods)
	p.audit.expect(podResource, "POST", producerPods)
	p.audit.keep(podResource, podKeys, producerPods)
	complete := p.untilLook("first scan", reports.look, func(t tally) bool { return t.results == producerPods*workload.RulesPerPod })
	untilQuiet(b, settled, events)
	policy, _, _ := strings.Cut(p.kubectl.Run(b, "get", "clusterpolicies", "-o", "name"), "\n")
	p.changePolicy("patch", policy, "--type=json", "--patch", workload.AddedRule)
	rule := p.untilLook("rule", reports.look, func(t tally) bool { return t.results == producerPods*(workload.RulesPerPod+1) })
	untilQuiet(b, settled, events)

	var cells []string
	var sum time.Duration
	after := processorTimes(b, processes)
	for _, name := range []string{"kube-apiserver", "etcd", "Docket", "database"} {
		cost := after[name] - before[name]
		sum += cost
		cells = append(cells, fmt.Sprintf("%.1f s", cost.Seconds()))
	}
	if last := reports.look(); last.results != producerPods*(workload.RulesPerPod+1) {
		b.Errorf("in the end there are %d results", last.results)
	}
	fmt.Printf("| %s | %s | %.1f s | %.1f s | %.1f s |\n", h.name, strings.Join(cells, " | "), sum.Seconds(), complete.Seconds(), rule.Seconds())
	row(h.name+": requests", "%s", p.audit.end(kyvernoErrors()...))
}

// followed is what an informer of one resource knows: lists would cost more than what is
// measured.
type followed struct {
	store  cache.Store
	events atomic.Int64
}

func follow(b *testing.B, client dynamic.Interface, version, resource string) *followed {
	b.Helper()
	gv := testkit.Must(schema.ParseGroupVersion(version))(b)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(gv.WithResource(resource)).Informer()
	f := &followed{store: informer.GetStore()}
	note := func() { f.events.Add(1) }
	testkit.Must(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { note() }, UpdateFunc: func(any, any) { note() }, DeleteFunc: func(any) { note() },
	}))(b)
	factory.Start(b.Context().Done())
	b.Cleanup(factory.Shutdown)
	if !cache.WaitForCacheSync(b.Context().Done(), informer.HasSynced) {
		b.Fatalf("the informer of %s does not sync", resource)
	}
	return f
}

func (f *followed) look() tally {
	var t tally
	for _, object := range f.store.List() {
		if report, ok := object.(*unstructured.Unstructured); ok {
			t.add(report)
		}
	}
	return t
}

// processorTimes is the processor time of each process so far, with its children.
func processorTimes(b *testing.B, pids map[string]int) map[string]time.Duration {
	b.Helper()
	times := map[string]time.Duration{}
	for name, pid := range pids {
		times[name] = processorTime(b, pid)
	}
	return times
}

// processorTime reads proc_pid_stat(5): its own time, that of children which have ended,
// and that of those which have not, in ticks of 10 ms.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	data := testkit.Must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(b)
	_, after, _ := strings.Cut(string(data), ") ") // The name may have spaces.
	fields := strings.Fields(after)
	const userTime, childrenSystemTime = 11, 14 // utime, stime, cutime, cstime
	var ticks int64
	for _, field := range fields[userTime : childrenSystemTime+1] {
		n := testkit.Must(strconv.ParseInt(field, 10, 64))(b)
		ticks += n
	}
	sum := time.Duration(ticks) * 10 * time.Millisecond
	children := testkit.Must(os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)))(b)
	for _, child := range strings.Fields(string(children)) {
		n := testkit.Must(strconv.Atoi(child))(b)
		sum += processorTime(b, n)
	}
	return sum
}
