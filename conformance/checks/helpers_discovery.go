// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
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
var errStale = &runner.LeftOut{Reason: "the aggregated discovery document says that it is stale for this group version"}

// whenSettled repeats what fails for a few seconds.
func whenSettled(p *runner.Probe, look func()) {
	limited, cancel := runner.Within(p.Context, settleTime)
	defer cancel()
	for {
		err := runner.Try(look)
		var failure *runner.Failure
		again := errors.As(err, &failure) || errors.Is(err, errStale)
		if !again || p.Pause(limited, settlePause) != nil {
			runner.StopOn(err)
			return
		}
	}
}

// wantDocument reads a document into value; a failure if there is none.
func wantDocument(p *runner.Probe, path, what string, value any) *runner.Response {
	response := p.Send(runner.Get(path))
	readDocument(response, what, value)
	return response
}

func readDocument(response *runner.Response, what string, value any) {
	if !response.OK() {
		response.Fail("%s", what)
	}
	if err := json.Unmarshal(response.Body, value); err != nil {
		response.FailBecause("it can't be read: "+err.Error(), "%s", what)
	}
}

// groupOfList returns what /apis says of the group; nil if it does not have it.
func groupOfList(p *runner.Probe) (*runner.Response, *metav1.APIGroup) {
	var list metav1.APIGroupList
	response := wantDocument(p, "/apis", "the list of groups", &list)
	for i := range list.Groups {
		if list.Groups[i].Name == p.GroupVersion.Group {
			return response, &list.Groups[i]
		}
	}
	return response, nil
}

// resourcesOf returns what the group version's own document has.
func resourcesOf(p *runner.Probe) (*runner.Response, []metav1.APIResource) {
	response := p.Prepare("read the resources of the group version", runner.Get(runner.GroupVersionPath(p.GroupVersion)))
	var list metav1.APIResourceList
	if err := json.Unmarshal(response.Body, &list); err != nil {
		response.Unprepared("read the resources of the group version")
	}
	return response, list.APIResources
}

// isChecked reports whether a resource, or that of a subresource, is among those that are checked.
func isChecked(p *runner.Probe, name string) bool {
	parent, _, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(p.Resources, func(r *runner.Resource) bool { return r.Name == parent })
}

// judgeResources has judge say what is wrong with each resource and subresource that is checked.
func judgeResources(p *runner.Probe, expected string, judge func(metav1.APIResource) []string) {
	response, resources := resourcesOf(p)
	var wrong []string
	for _, resource := range resources {
		if !isChecked(p, resource.Name) {
			continue
		}
		for _, problem := range judge(resource) {
			wrong = append(wrong, resource.Name+": "+problem)
		}
	}
	failIfAny(response, wrong, expected)
}

// failIfAny returns a failure if something is wrong.
func failIfAny(response *runner.Response, wrong []string, expected string) {
	const most = 20
	if len(wrong) == 0 {
		return
	}
	if len(wrong) > most {
		wrong = append(wrong[:most:most], "…")
	}
	response.FailBecause(strings.Join(wrong, "; "), "%s", expected)
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
