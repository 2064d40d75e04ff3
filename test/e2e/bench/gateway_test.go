// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	gatewayRounds  = 5
	gatewayWatches = 5000
	gatewayObjects = 2000
	// gatewayRate is below what two cores can do, so that latency is not that of a queue.
	gatewayRate = "200"
)

// BenchmarkGateway compares gets of custom resources at a kube-apiserver with those
// through a gateway, in turns, and says what many watches cost the gateway.
func BenchmarkGateway(b *testing.B) {
	c := harness.StartCluster(b)
	c.InstallCRDs(b)
	for n := range namespaces {
		c.Kubectl(b, "default").Run(b, "create", "namespace", fmt.Sprintf("load-1-%03d", n))
	}
	load(b, c, 1, gatewayObjects, "create")
	gateway := harness.Gateway(b, c.Kubeconfig())
	a := newAudit(b, c, nil)
	a.keep(reportResource, "/registry/wgpolicyk8s.io/policyreports/", gatewayObjects)
	for b.Loop() {
		var direct, through, directCalm, throughCalm []phase
		for range gatewayRounds {
			direct = append(direct, gets(b, c.Kubeconfig()))
			through = append(through, gets(b, gateway.Kubeconfig()))
			directCalm = append(directCalm, gets(b, c.Kubeconfig(), "--rate", gatewayRate))
			throughCalm = append(throughCalm, gets(b, gateway.Kubeconfig(), "--rate", gatewayRate))
		}
		atRest := status(b, gateway.PID(), "VmRSS")
		watches := loadAt(b, gateway.Kubeconfig(), "--objects", strconv.Itoa(gatewayObjects), "--phases", "idle-watch", "--idle-watchers", strconv.Itoa(gatewayWatches))
		fmt.Printf("| | direct | through the gateway |\n|---|---|---|\n| get, 16 clients | %.0f/s | %.0f/s (%.2f×) |\n| get, p50 | %.2f ms | %.2f ms (%+.2f ms) |\n",
			median(direct, perSecond), median(through, perSecond), median(through, perSecond)/median(direct, perSecond),
			median(direct, p50), median(through, p50), median(through, p50)-median(direct, p50))
		fmt.Printf("| get, p50 at %s/s | %.2f ms | %.2f ms (%+.2f ms) |\n", gatewayRate,
			median(directCalm, p50), median(throughCalm, p50), median(throughCalm, p50)-median(directCalm, p50))
		fmt.Printf("| memory of the gateway, at rest | | %s |\n| peak with %d watches | | %s |\n", megabytes(atRest), gatewayWatches, megabytes(status(b, gateway.PID(), "VmHWM")))
		for _, p := range watches {
			if len(p.Errors) > 0 {
				b.Errorf("%s: %v", p.Phase, p.Errors)
			}
		}
	}
	row("requests meanwhile", "%s |", a.end())
}

// gets reads all objects once. What the load command looks at afterwards does not count.
func gets(b *testing.B, kubeconfig string, arguments ...string) phase {
	b.Helper()
	phases := loadAt(b, kubeconfig, append([]string{"--objects", strconv.Itoa(gatewayObjects), "--phases", "get"}, arguments...)...)
	return phases[slices.IndexFunc(phases, func(p phase) bool { return p.Phase == "get" })]
}

func median(phases []phase, value func(phase) float64) float64 {
	sorted := slices.SortedFunc(slices.Values(phases), func(a, b phase) int { return cmp.Compare(value(a), value(b)) })
	return value(sorted[len(sorted)/2])
}
