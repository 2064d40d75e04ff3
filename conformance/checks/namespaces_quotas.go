// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func namespacesQuotasRules() []rule {
	return []rule{quotaCounted{}, quotaEnforced{}}
}

type quotaCounted struct{}

func (r quotaCounted) check() runner.Check {
	return runner.Check{
		ID: "quota-counted", Area: areaNamespaces,
		Rule:        "A ResourceQuota counts the objects of a namespace.",
		Detail:      "Creates two objects and a ResourceQuota for count/<resource>.<group>, and waits until its status.used counts them. Skipped if no controller sets the status.",
		Reference:   "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true, Run: r.run,
	}
}

func (quotaCounted) run(ctx context.Context, p *runner.Probe) error {
	if err := ownNamespace(ctx, p); err != nil {
		return err
	}
	for range 2 { // Before there is a quota that could refuse them.
		if _, err := p.Make(ctx); err != nil {
			return err
		}
	}
	if err := makeQuota(ctx, p, 100); err != nil {
		return err
	}
	response, err := awaitCount(ctx, p, 100, 2)
	if response == nil || err != nil {
		return err
	}
	return response.Fail("%q in status.used to become 2 or more: there are two objects", quotaKey(p))
}

func (quotaCounted) broken() broken.Server {
	return broken.That("has objects that the controller of quotas does not see", broken.OnAnswered(broken.Method(http.MethodGet, isQuota), func(quota map[string]any) {
		used := broken.FieldsOf(broken.FieldsOf(quota, "status"), "used")
		for key := range used {
			if strings.HasPrefix(key, "count/") && strings.Contains(key, ".") {
				used[key] = "0"
			}
		}
	})).WithControllers()
}

// isQuota matches requests about a ResourceQuota.
func isQuota(r *http.Request) bool {
	p := broken.PlaceOf(r)
	return p != nil && broken.IsCore(r) && p.Resource == "resourcequotas" && p.Name != ""
}

type quotaEnforced struct{}

func (r quotaEnforced) check() runner.Check {
	return runner.Check{
		ID: "quota-enforced", Area: areaNamespaces,
		Rule:        "Creating more objects than a ResourceQuota of the namespace allows gets 403 and a Status that says so.",
		Detail:      "Creates a ResourceQuota that allows one object, waits until its status.used has a number, and creates more. The server has ten seconds to notice the quota. Skipped if the objects are not counted.",
		Reference:   "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true, Run: r.run,
	}
}

func (quotaEnforced) run(ctx context.Context, p *runner.Probe) error {
	if err := ownNamespace(ctx, p); err != nil {
		return err
	}
	if err := makeQuota(ctx, p, 1); err != nil {
		return err
	}
	uncounted, err := awaitCount(ctx, p, 1, 0)
	if err != nil {
		return err
	}
	if uncounted != nil {
		return runner.Leave("no controller counts the objects; see quota-counted")
	}
	var response *runner.Response
	made := 0
	_, err = await(ctx, p, noticing, func() (bool, error) {
		var err error
		if response, err = p.Send(ctx, runner.Post(p.Collection(), p.New())); err != nil {
			return false, err
		}
		if response.OK() {
			made++
		}
		unknown := response.Code == http.StatusForbidden && strings.Contains(string(response.Body), "status unknown for quota")
		return !response.OK() && !unknown, nil
	})
	if err != nil {
		return err
	}
	refusal := fmt.Sprintf("403 Forbidden with a Status whose reason is Forbidden and whose message says %q", exceeded)
	switch status, _ := response.Status(); {
	case response.OK():
		return response.FailBecause(fmt.Sprintf("%d objects were created", made), "%s: the ResourceQuota allows one object", refusal)
	case strings.Contains(string(response.Body), exceeded) && status != nil && status.Reason == metav1.StatusReasonForbidden && response.Code == http.StatusForbidden:
		return nil
	case made == 0:
		return &runner.SetupError{Wanted: "create an object", Exchange: response.Exchange}
	}
	return response.Fail("%s: the ResourceQuota allows one object", refusal)
}

func (quotaEnforced) broken() broken.Server {
	return broken.That("creates objects that a quota does not allow", broken.Instead(broken.Method(http.MethodPost, broken.Collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		sent := broken.BodyOf(r)
		a := broken.Ask(next, r)
		if a.Code == http.StatusForbidden && strings.Contains(string(a.Body), "exceeded quota") {
			a.Code, a.Body = http.StatusCreated, sent
		}
		a.Send(w)
	})).WithControllers()
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
func makeQuota(ctx context.Context, p *runner.Probe, limit int) error {
	response, err := p.Send(ctx, runner.Post(corePath(p.Namespace, "resourcequotas"), map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": quotaName},
		"spec": map[string]any{"hard": hardLimits(p, limit, 0)},
	}))
	switch {
	case err != nil:
		return err
	case response.Code == http.StatusNotFound:
		return runner.Leave("the server has no ResourceQuotas")
	case response.Code == http.StatusUnprocessableEntity:
		return runner.Leave("the server allows no ResourceQuota for %s", quotaKey(p))
	case !response.OK():
		return &runner.SetupError{Wanted: "create a ResourceQuota", Exchange: response.Exchange}
	}
	return awaitController(ctx, p, "quota controller", func() (bool, error) {
		number, _, err := readQuota(ctx, p, "hard")
		return number >= 0, err
	})
}

func quotaPath(p *runner.Probe) string {
	return corePath(p.Namespace, "resourcequotas") + "/" + quotaName
}

// readQuota returns the number that a part of the status of the quota has for the resource; -1 if it
// has none.
func readQuota(ctx context.Context, p *runner.Probe, part string) (int64, *runner.Response, error) {
	response, err := p.Send(ctx, runner.Get(quotaPath(p)))
	if err != nil {
		return 0, nil, err
	}
	quota, err := response.Object()
	if err != nil {
		return 0, nil, &runner.SetupError{Wanted: "read the ResourceQuota", Exchange: response.Exchange}
	}
	text, found, err := unstructured.NestedString(quota.Object, "status", part, quotaKey(p))
	if !found || err != nil {
		return -1, response, nil //nolint:nilerr // It has none.
	}
	number, err := resource.ParseQuantity(text)
	if err != nil {
		return -1, response, nil //nolint:nilerr // It has none.
	}
	return number.Value(), response, nil
}

// awaitCount returns nil when the quota has counted as many objects, and the quota as it is if that
// does not happen.
func awaitCount(ctx context.Context, p *runner.Probe, limit int, least int64) (*runner.Response, error) {
	var quota *runner.Response
	turn, last := 0, time.Now()
	counted, err := await(ctx, p, counting, func() (bool, error) {
		number, response, err := readQuota(ctx, p, "used")
		if quota = response; err != nil || number >= least || time.Since(last) < recount {
			return number >= least, err
		}
		turn, last = turn+1, time.Now()
		change := map[string]any{"spec": map[string]any{"hard": hardLimits(p, limit, turn)}}
		_, err = p.Prepare(ctx, "change the ResourceQuota", runner.Patch(quotaPath(p), types.MergePatchType, change))
		return false, err
	})
	if counted || err != nil {
		return nil, err
	}
	return quota, nil
}
