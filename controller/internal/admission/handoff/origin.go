// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics"

	"github.com/docket-project/docket/controller/internal/policy"
)

// origin is who writes the EphemeralReports that an inbox takes.
type origin struct {
	// manager is the value of managedByLabel.
	manager string
	// resources are what is read; EphemeralReports if nil.
	resources []schema.GroupVersionResource
	decode    func(object *unstructured.Unstructured, now time.Time) ([]policy.Admitted, error)
	read      *metrics.CounterVec
	held      *metrics.Gauge
	errors    *metrics.CounterVec
}

func (o *origin) selector() string { return managedByLabel + "=" + o.manager }

var (
	ours     = &origin{manager: manager, decode: decode, read: read, held: held, errors: readErrors}
	kyvernos = &origin{manager: kyvernoManager, decode: decodeKyverno, read: adoptedRead, held: adoptedHeld, errors: adoptedErrors}
	replaced = &origin{manager: kyvernoManager, resources: replaceable(), decode: decodeReport, read: replacedRead, held: replacedHeld, errors: replacedErrors}
)

const (
	// rivalTime is how long after the last sign of it Kyverno's reports controller is taken to run.
	rivalTime = 30 * time.Minute
	// rivalPatience is how long it is left to take results. It does so after 10 s, or 20 s for requests.
	rivalPatience = time.Minute
	// recent is how old a report may be that says that its writer runs.
	recent = 5 * time.Minute
)

// rival reports whether Kyverno's own reports controller runs beside us: it needs the same EphemeralReports, which
// both can use if nobody deletes them at once. At first it is taken to run, until rivalPatience has passed.
type rival struct {
	mu    sync.Mutex
	until time.Time
}

// begin has everything left to it at first.
func (r *rival) begin(now time.Time) { r.expect(now.Add(rivalPatience)) }

func (r *rival) expect(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.After(r.until) {
		r.until = until
	}
}

// see looks for signs of it: reports of its scan, which alone have a hash of the resource, and reports of requests
// that it has given an owner.
func (r *rival) see(object *unstructured.Unstructured, now time.Time) {
	labels := object.GetLabels()
	scanned := labels[hashLabel] != ""
	owned := labels[sourceLabel] == "admission" && len(object.GetOwnerReferences()) > 0
	if (scanned || owned) && now.Sub(object.GetCreationTimestamp().Time) < recent {
		r.expect(now.Add(rivalTime))
	}
}

// patience returns how long EphemeralReports are left to it.
func (r *rival) patience(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.until) {
		return rivalPatience
	}
	return 0
}
