// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/runner"
)

func namespacesQuotasRules() []runner.Check {
	return []runner.Check{quotaCounted(), quotaEnforced()}
}

func quotaCounted() runner.Check {
	return runner.Check{
		ID: "quota-counted", Area: areaNamespaces,
		Rule:        "A ResourceQuota counts the objects of a namespace.",
		Detail:      "Creates two objects and a ResourceQuota for count/<resource>.<group>, and waits until its status.used counts them. Skipped if no controller sets the status.",
		Reference:   "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true,
		Run: func(p *runner.Probe) {
			ownNamespace(p)
			for range 2 { // Before there is a quota that could refuse them.
				p.Make()
			}
			makeQuota(p, 100)
			response := awaitCount(p, 100, 2)
			if response == nil {
				return
			}
			response.Fail("%q in status.used to become 2 or more: there are two objects", quotaKey(p))
		},
	}
}

func quotaEnforced() runner.Check {
	return runner.Check{
		ID: "quota-enforced", Area: areaNamespaces,
		Rule:        "Creating more objects than a ResourceQuota of the namespace allows gets 403 and a Status that says so.",
		Detail:      "The server has ten seconds to notice the quota. Skipped if the objects are not counted.",
		Reference:   "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true,
		Run: func(p *runner.Probe) {
			ownNamespace(p)
			makeQuota(p, 1)
			uncounted := awaitCount(p, 1, 0)
			if uncounted != nil {
				runner.Leave("no controller counts the objects; see quota-counted")
			}
			var response *runner.Response
			made := 0
			await(p, noticing, func() bool {
				response = p.Send(runner.Post(p.Collection(), p.New()))
				if response.OK() {
					made++
				}
				unknown := response.Code == http.StatusForbidden && strings.Contains(string(response.Body), "status unknown for quota")
				return !response.OK() && !unknown
			})
			refusal := fmt.Sprintf("403 Forbidden with a Status whose reason is Forbidden and whose message says %q", exceeded)
			switch status, _ := response.Status(); {
			case response.OK():
				response.FailBecause(fmt.Sprintf("%d objects were created", made), "%s: the ResourceQuota allows one object", refusal)
			case strings.Contains(string(response.Body), exceeded) && status != nil && status.Reason == metav1.StatusReasonForbidden && response.Code == http.StatusForbidden:
				return
			case made == 0:
				response.Unprepared("create an object")
			}
			response.Fail("%s: the ResourceQuota allows one object", refusal)
		},
	}
}

// quotaKey is what quotas call the number of objects of the resource.
func quotaKey(p *runner.Probe) string {
	key := "count/" + p.Resource.Name
	if group := p.GroupVersion.Group; group != "" {
		key += "." + group
	}
	return key
}

// hardLimits returns those of a quota. A turn changes what they say of something else: it makes the
// controller count again.
func hardLimits(p *runner.Probe, limit, turn int) map[string]any {
	other := "count/secrets"
	if other == quotaKey(p) {
		other = "count/configmaps"
	}
	return map[string]any{quotaKey(p): fmt.Sprint(limit), other: fmt.Sprint(100 + turn)}
}

// makeQuota makes a quota. The check is left out if there is no controller for it.
func makeQuota(p *runner.Probe, limit int) {
	response := p.Send(runner.Post(corePath(p.Namespace, "resourcequotas"), map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": quotaName},
		"spec": map[string]any{"hard": hardLimits(p, limit, 0)},
	}))
	switch {
	case response.Code == http.StatusNotFound:
		runner.Leave("the server has no ResourceQuotas")
	case response.Code == http.StatusUnprocessableEntity:
		runner.Leave("the server allows no ResourceQuota for %s", quotaKey(p))
	case !response.OK():
		response.Unprepared("create a ResourceQuota")
	}
	awaitController(p, "quota controller", func() bool {
		number, _ := readQuota(p, "hard")
		return number >= 0
	})
}

func quotaPath(p *runner.Probe) string {
	return corePath(p.Namespace, "resourcequotas") + "/" + quotaName
}

// readQuota returns the number that a part of the status of the quota has for the resource; -1 if it
// has none.
func readQuota(p *runner.Probe, part string) (int64, *runner.Response) {
	response := p.Send(runner.Get(quotaPath(p)))
	quota := response.ObjectOrNil()
	if quota == nil {
		response.Unprepared("read the ResourceQuota")
	}
	text, found, err := unstructured.NestedString(quota.Object, "status", part, quotaKey(p))
	if !found || err != nil {
		return -1, response // It has none.
	}
	number, err := resource.ParseQuantity(text)
	if err != nil {
		return -1, response // It has none.
	}
	return number.Value(), response
}

// awaitCount returns nil when the quota has counted as many objects, and the quota as it is if that
// does not happen.
func awaitCount(p *runner.Probe, limit int, least int64) *runner.Response {
	var quota *runner.Response
	turn, last := 0, time.Now()
	counted := await(p, counting, func() bool {
		number, response := readQuota(p, "used")
		quota = response
		if number >= least || time.Since(last) < recount {
			return number >= least
		}
		turn, last = turn+1, time.Now()
		change := map[string]any{"spec": map[string]any{"hard": hardLimits(p, limit, turn)}}
		p.Prepare("change the ResourceQuota", runner.Patch(quotaPath(p), types.MergePatchType, change))
		return false
	})
	if counted {
		return nil
	}
	return quota
}
