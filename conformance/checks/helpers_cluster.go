// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	// lookAgain is the pause between two looks at what controllers do.
	lookAgain = 200 * time.Millisecond
	// lastWords is how much of its time a check keeps to say what it has found.
	lastWords = 3 * time.Second
	// briefly is how long controllers get that probably do not run, patiently those that should.
	briefly, patiently = 2 * time.Second, 20 * time.Second
	// learning is how long the controllers of a cluster may take to notice a new resource: they look every 30 seconds.
	learning = 35 * time.Second
)

// await asks until the answer is yes or the time has ended. It leaves some time to the check.
func await(p *runner.Probe, limit time.Duration, answer func() bool) bool {
	limited, cancel := runner.Within(p.Context, min(limit, timeLeft(p)))
	defer cancel()
	for {
		if answer() {
			return true
		}
		if p.Pause(limited, lookAgain) != nil {
			runner.StopOn(p.Context.Err())
			return false
		}
	}
}

// timeLeft returns how long a check may still wait.
func timeLeft(p *runner.Probe) time.Duration {
	deadline, ok := p.Context.Deadline()
	if !ok {
		return time.Hour
	}
	return time.Until(deadline) - lastWords
}

// awaitController is [await] for the first work of a controller that not every control plane has. The
// check is left out if there is no sign of it.
func awaitController(p *runner.Probe, name string, answer func() bool) {
	if !await(p, briefly, answer) && !(hasControllers(p) && await(p, patiently, answer)) {
		runner.Leave("no %s seems to run", name)
	}
}

// hasControllers reports whether the controllers of a cluster run, as far as can be seen: each
// namespace gets a service account.
func hasControllers(p *runner.Probe) bool {
	response := p.Send(runner.Get(corePath(p.Namespace, "serviceaccounts") + "/default").MayBeRefused())
	return response.Code != http.StatusNotFound
}

// corePath is the path of the objects of a resource of the core API.
func corePath(namespace, resource string) string {
	return "/api/v1/namespaces/" + namespace + "/" + resource
}

// namespacePath is the path of a namespace.
func namespacePath(name string) string { return "/api/v1/namespaces/" + name }

// prop is an object of the core API that a check makes besides those of its resource. The check has to remove it.
type prop struct {
	path      string
	reference metav1.OwnerReference
}

// makeProp makes a ConfigMap with these owners; a Secret if ConfigMaps are what is checked.
func makeProp(p *runner.Probe, owners ...metav1.OwnerReference) *prop {
	kind, resource := "ConfigMap", "configmaps"
	if p.Resource.GroupVersion.Group == "" && p.Resource.Name == resource {
		kind, resource = "Secret", "secrets"
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	object.SetName(p.Name())
	object.SetNamespace(p.Namespace)
	object.SetOwnerReferences(owners)
	p.Mark(object)
	response := p.Send(runner.Post(corePath(p.Namespace, resource), object))
	if response.Code == http.StatusNotFound {
		runner.Leave("the server has no %s", resource)
	}
	made := response.ObjectOrNil()
	if made == nil {
		response.Unprepared("create a " + kind)
	}
	return &prop{corePath(p.Namespace, resource) + "/" + object.GetName(), referenceTo(made)}
}

// remove deletes it if it still exists, even after the time of the check has ended.
func (o *prop) remove(p *runner.Probe) {
	p.Tidy(runner.Delete(o.path, runner.DeleteNow()))
}

// referenceTo names an object as the owner of others.
func referenceTo(owner *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}
}

// refersTo reports whether an object names the owner with a UID.
func refersTo(object *unstructured.Unstructured, owner metav1.OwnerReference) bool {
	for _, reference := range object.GetOwnerReferences() {
		if reference.UID == owner.UID {
			return true
		}
	}
	return false
}

// ownNamespace makes the namespace of the probe one that belongs to the check alone.
func ownNamespace(p *runner.Probe) {
	needsNamespaces(p)
	p.Namespace = p.NewNamespace()
}

// needsNamespaces leaves a check out whose resource has no namespaces.
func needsNamespaces(p *runner.Probe) {
	if !p.Resource.Namespaced {
		runner.Leave("the resource has no namespaces")
	}
}

// needsCluster leaves a check out that needs namespaces and the core API.
func needsCluster(p *runner.Probe) {
	needsNamespaces(p)
	if !p.HasCore {
		runner.Leave("the server has no core API")
	}
}

// notEvents is for checks of what the controllers of a cluster do with all resources but this.
func notEvents(resource *runner.Resource) string {
	if resource.Name == "events" && (resource.GroupVersion.Group == "" || resource.GroupVersion.Group == "events.k8s.io") {
		return "controllers leave events alone"
	}
	return ""
}

// seconds is a length of time for people.
func seconds(length time.Duration) string { return fmt.Sprintf("%.0f seconds", length.Seconds()) }

const (
	// settleTime is how long documents may lag behind what was just registered, and one behind the other.
	settleTime  = 4 * time.Second
	settlePause = 250 * time.Millisecond
)

// errStale is why a document of an aggregator tells nothing.
var errStale = &runner.LeftOut{Reason: "the aggregated discovery document says that it is stale for this group version"}

// settled returns a check that repeats another one for a few seconds while it fails.
func settled(check func(*runner.Probe)) func(*runner.Probe) {
	return func(p *runner.Probe) {
		limited, cancel := runner.Within(p.Context, settleTime)
		defer cancel()
		for {
			err := runner.Try(func() { check(p) })
			_, failed := errors.AsType[*runner.Failure](err)
			if again := failed || errors.Is(err, errStale); !again || p.Pause(limited, settlePause) != nil {
				runner.StopOn(err)
				return
			}
		}
	}
}

// wantDocument reads a document into value; it fails the check if there is none.
func wantDocument(p *runner.Probe, path, what string, value any) *runner.Response {
	response := p.Send(runner.Get(path))
	readDocument(response, what, value)
	return response
}

func readDocument(response *runner.Response, what string, value any) {
	response.WantSuccess("%s", what)
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

// failIfAny fails the check if something is wrong.
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
