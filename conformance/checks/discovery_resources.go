// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/conformance/runner"
)

// discoveryVerbNames are all that discovery can list; rights know more.
var discoveryVerbNames = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy"}

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

var discoveryResources = []runner.Check{
	{
		ID: "discovery-names", Area: areaDiscovery,
		Rule:      "Resource names, singular names, and short names are in lower case; kinds are in CamelCase.",
		Detail:    "Names must be DNS labels. Whether a name is a plural can't be checked. If the singular name is missing, the kind in lower case stands for it, as in clients.",
		Reference: apiConventions + "#types-kinds",
		Run: func(p *runner.Probe) {
			const expected = "names of resources that are lower-case DNS labels, and kinds in CamelCase"
			judgeResources(p, expected, func(one metav1.APIResource) (wrong []string) {
				label := func(what, name string) {
					if len(validation.IsDNS1123Label(name)) > 0 {
						wrong = append(wrong, fmt.Sprintf("the %s %q is not a lower-case DNS label", what, name))
					}
				}
				if strings.Contains(one.Name, "/") {
					return nil
				}
				label("name", one.Name)
				if one.SingularName != "" {
					label("singular name", one.SingularName)
				}
				for _, name := range one.ShortNames {
					label("short name", name)
				}
				if !camelCase.MatchString(one.Kind) {
					wrong = append(wrong, fmt.Sprintf("the kind %q is not in CamelCase", one.Kind))
				}
				return wrong
			})
		},
	},
	{
		ID: "discovery-verbs", Area: areaDiscovery,
		Rule:      "Each resource and subresource has verbs, all of them verbs of Kubernetes.",
		Detail:    "These are get, list, watch, create, update, patch, delete, deletecollection, and proxy.",
		Reference: apiConventions + "#verbs-on-resources",
		Run: func(p *runner.Probe) {
			expected := "verbs of each resource, all of them among " + strings.Join(discoveryVerbNames, ", ")
			judgeResources(p, expected, func(one metav1.APIResource) (wrong []string) {
				if len(one.Verbs) == 0 {
					wrong = append(wrong, "no verbs")
				}
				for _, verb := range one.Verbs {
					if !slices.Contains(discoveryVerbNames, verb) {
						wrong = append(wrong, fmt.Sprintf("the verb %q", verb))
					}
				}
				return wrong
			})
		},
	},
	{
		ID: "discovery-subresources", Area: areaDiscovery,
		Rule:      "A subresource belongs to a listed resource; status has the kind of its resource, and scale is the Scale of autoscaling/v1.",
		Detail:    "Other subresources may be of any kind.",
		Reference: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#subresources",
		Run: func(p *runner.Probe) {
			response, resources := resourcesOf(p)
			parents := map[string]metav1.APIResource{}
			for _, one := range resources {
				parents[one.Name] = one
			}
			var wrong []string
			for _, one := range resources {
				name, sub, isSub := strings.Cut(one.Name, "/")
				if !isSub {
					continue
				}
				parent, known := parents[name]
				kind := kindText(p.GroupVersion, one.Group, one.Version, one.Kind)
				switch {
				case !known:
					wrong = append(wrong, fmt.Sprintf("%s: there is no resource %q", one.Name, name))
				case !isChecked(p, name):
				case sub == "status" && kind != kindText(p.GroupVersion, parent.Group, parent.Version, parent.Kind):
					wrong = append(wrong, fmt.Sprintf("%s: its kind is %s, but the kind of the resource is %s", one.Name, kind, parent.Kind))
				case sub == "scale" && kind != "autoscaling/v1 Scale":
					wrong = append(wrong, fmt.Sprintf("%s: its kind is %s", one.Name, kind))
				}
			}
			failIfAny(response, wrong, "subresources of resources that are listed, status of the resource's kind, and scale of the kind autoscaling/v1 Scale")
		},
	},
	{
		ID: "discovery-unique", Area: areaDiscovery,
		Rule:      "No two resources of the group version share a name, a short name, or a kind.",
		Detail:    "All names must differ, because clients look for each. Checks all resources of the group version.",
		Reference: apiConventions + "#short-names",
		Run: func(p *runner.Probe) {
			response, resources := resourcesOf(p)
			entries, names, kinds := map[string]bool{}, map[string]string{}, map[string]string{}
			var wrong []string
			claim := func(taken map[string]string, what, name, resource string) {
				if other, found := taken[name]; found && other != resource {
					wrong = append(wrong, fmt.Sprintf("the %s %q of %s is taken by %s", what, name, resource, other))
				}
				taken[name] = resource
			}
			for _, one := range resources {
				if entries[one.Name] {
					wrong = append(wrong, fmt.Sprintf("%q is listed twice", one.Name))
				}
				entries[one.Name] = true
				if strings.Contains(one.Name, "/") {
					continue
				}
				claim(kinds, "kind", one.Kind, one.Name)
				claim(names, "name", one.Name, one.Name)
				if one.SingularName != "" {
					claim(names, "singular name", one.SingularName, one.Name)
				}
				for _, name := range one.ShortNames {
					claim(names, "short name", name, one.Name)
				}
			}
			failIfAny(response, wrong, "each name and kind to be that of one resource only")
		},
	},
	{
		ID: "discovery-verbs-served", Area: areaDiscovery, PerResource: true,
		Rule:      "A verb that discovery lists does not get 405; one that it does not list does not succeed.",
		Detail:    "Tries get, list, and watch, and the other verbs with dryRun, on names that do not exist or on an object of its own. Does not try deletecollection.",
		Reference: discoveryText,
		Run: func(p *runner.Probe) {
			t := &verbTrials{Probe: p}
			t.makeOwn()
			for _, verb := range []string{"get", "list", "create", "update", "patch", "delete"} {
				request, ok := t.request(verb)
				if !ok {
					continue
				}
				response := p.Send(request.MayBeRefused())
				switch {
				case p.Resource.Has(verb) && response.Code == http.StatusMethodNotAllowed:
					response.Fail("another answer than 405: discovery lists the verb %s", verb)
				case !p.Resource.Has(verb) && response.OK():
					response.Fail("no success: discovery does not list the verb %s", verb)
				}
			}
			t.watch()
		},
	},
}

// watchLook is how long a watch may take to show that it is none.
const watchLook = 2 * time.Second

// verbTrials tries what discovery says of the verbs of a resource.
type verbTrials struct {
	*runner.Probe

	// own is an object of the check; nil if it has none.
	own *unstructured.Unstructured
}

// makeOwn makes an object if that of a name that does not exist would tell nothing.
func (t *verbTrials) makeOwn() {
	if t.Namespace == "" || !t.Resource.Has("create", "get") || t.Resource.Has("update", "patch", "delete") {
		return
	}
	err := runner.Try(func() { t.own = t.Make() })
	var setup *runner.SetupError
	var left *runner.LeftOut
	if !errors.As(err, &setup) && !errors.As(err, &left) { // There are names that do not exist.
		runner.StopOn(err)
	}
}

// request returns one that does no harm whatever the server does with it.
func (t *verbTrials) request(verb string) (runner.Request, bool) {
	listed := t.Resource.Has(verb)
	missing := &unstructured.Unstructured{Object: map[string]any{}}
	missing.SetGroupVersionKind(t.Resource.GVK())
	missing.SetName(t.Name())
	missing.SetNamespace(t.Namespace)
	missing.SetUID("00000000-0000-0000-0000-000000000000") // Even a server that creates missing objects must refuse this.
	object := missing
	if t.own != nil && !listed {
		object = t.own
	}
	path := t.Path(object.GetName())
	switch verb {
	case "get":
		return runner.Get(path), true
	case "list":
		return runner.Get(t.Collection(), "limit", "1", "labelSelector", t.Selector()), true
	case "create":
		// If it is listed, all other checks create objects.
		return runner.Post(t.Collection(), t.New(), "dryRun", "All"), !listed && t.Namespace != ""
	case "update":
		return runner.Put(path, object, "dryRun", "All"), true
	case "patch":
		return runner.Patch(path, types.MergePatchType, map[string]any{"metadata": map[string]any{}}, "dryRun", "All"), true
	default:
		return runner.Delete(path, runner.DeleteNow(), "dryRun", "All"), true
	}
}

// watch tries the verb watch. A server that does not know it may well answer with a list.
func (t *verbTrials) watch() {
	listed := t.Resource.Has("watch")
	request := runner.Get(t.Collection(), "timeoutSeconds", "1", "labelSelector", t.Selector())
	stream, response := t.WatchWith(request.MayBeRefused())
	if stream == nil {
		if listed && response.Code == http.StatusMethodNotAllowed {
			response.Fail("another answer than 405: discovery lists the verb watch")
		}
		return
	}
	defer stream.Close()
	if listed {
		return
	}
	limited, cancel := runner.Within(t.Context, watchLook)
	defer cancel()
	event, err := stream.Next(limited)
	none := errors.Is(err, io.EOF) || errors.Is(err, runner.ErrNoEvent)
	if none || err == nil && slices.Contains([]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}, event.Type) {
		stream.Fail("it is a watch", "no success: discovery does not list the verb watch")
	}
}
