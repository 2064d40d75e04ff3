// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	// settleTime is how long documents may lag behind what was just registered, and one behind
	// the other.
	settleTime  = 4 * time.Second
	settlePause = 250 * time.Millisecond
)

// errStale is why a document of an aggregator tells nothing.
var errStale = runner.Leave("the aggregated discovery document says that it is stale for this group version")

// whenSettled repeats what fails for a few seconds.
func whenSettled(ctx context.Context, p *runner.Probe, look func(context.Context) error) error {
	limited, cancel := runner.Within(ctx, settleTime)
	defer cancel()
	for {
		err := look(ctx)
		var failure *runner.Failure
		again := errors.As(err, &failure) || errors.Is(err, errStale)
		if !again || p.Pause(limited, settlePause) != nil {
			return err
		}
	}
}

// wantDocument reads a document into value; a failure if there is none.
func wantDocument(ctx context.Context, p *runner.Probe, path, what string, value any) (*runner.Response, error) {
	response, err := p.Send(ctx, runner.Get(path))
	if err != nil {
		return nil, err
	}
	if !response.OK() {
		return nil, response.Fail("%s", what)
	}
	if err := json.Unmarshal(response.Body, value); err != nil {
		return nil, response.FailBecause("it can't be read: "+err.Error(), "%s", what)
	}
	return response, nil
}

// groupOfList returns what /apis says of the group; nil if it does not have it.
func groupOfList(ctx context.Context, p *runner.Probe) (*runner.Response, *metav1.APIGroup, error) {
	var list metav1.APIGroupList
	response, err := wantDocument(ctx, p, "/apis", "the list of groups", &list)
	if err != nil {
		return nil, nil, err
	}
	for i := range list.Groups {
		if list.Groups[i].Name == p.GroupVersion.Group {
			return response, &list.Groups[i], nil
		}
	}
	return response, nil, nil
}

// resourcesOf returns what the group version's own document has.
func resourcesOf(ctx context.Context, p *runner.Probe) (*runner.Response, []metav1.APIResource, error) {
	response, err := p.Prepare(ctx, "read the resources of the group version", runner.Get(runner.GroupVersionPath(p.GroupVersion)))
	if err != nil {
		return nil, nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(response.Body, &list); err != nil {
		return nil, nil, &runner.SetupError{Wanted: "read the resources of the group version", Exchange: response.Exchange}
	}
	return response, list.APIResources, nil
}

// isChecked reports whether a resource, or that of a subresource, is among those that are checked.
func isChecked(p *runner.Probe, name string) bool {
	parent, _, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(p.Resources, func(r *runner.Resource) bool { return r.Name == parent })
}

// judgeResources has judge say what is wrong with each resource and subresource that is checked.
func judgeResources(ctx context.Context, p *runner.Probe, expected string, judge func(metav1.APIResource) []string) error {
	response, resources, err := resourcesOf(ctx, p)
	if err != nil {
		return err
	}
	var wrong []string
	for _, resource := range resources {
		if !isChecked(p, resource.Name) {
			continue
		}
		for _, problem := range judge(resource) {
			wrong = append(wrong, resource.Name+": "+problem)
		}
	}
	return failIfAny(response, wrong, expected)
}

// failIfAny returns a failure if something is wrong.
func failIfAny(response *runner.Response, wrong []string, expected string) error {
	const most = 20
	if len(wrong) == 0 {
		return nil
	}
	if len(wrong) > most {
		wrong = append(wrong[:most:most], "…")
	}
	return response.FailBecause(strings.Join(wrong, "; "), "%s", expected)
}

// sameSet compares without order.
func sameSet[T comparable](a, b []T) bool {
	in := func(list []T) func(T) bool { return func(one T) bool { return !slices.Contains(list, one) } }
	return len(a) == len(b) && !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

func versionsText(versions []metav1.GroupVersionForDiscovery) string {
	var texts []string
	for _, version := range versions {
		texts = append(texts, fmt.Sprintf("version %q with groupVersion %q", version.Version, version.GroupVersion))
	}
	return strings.Join(texts, ", ")
}

func groupText(group *metav1.APIGroup) string {
	return versionsText(group.Versions) + "; preferred is " + fmt.Sprintf("%q", group.PreferredVersion.GroupVersion)
}
