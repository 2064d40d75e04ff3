// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/runner"
)

// watchLook is how long a watch may take to show that it is none.
const watchLook = 2 * time.Second

// verbTrials tries what discovery says of the verbs of a resource.
type verbTrials struct {
	*runner.Probe

	// own is an object of the check; nil if it has none.
	own *unstructured.Unstructured
}

func discoveryServedRules() []runner.Check {
	return []runner.Check{discoveryVerbsServed()}
}

func discoveryVerbsServed() runner.Check {
	return runner.Check{
		ID: "discovery-verbs-served", Area: areaDiscovery,
		Rule:        "A verb that discovery lists does not get 405; one that it does not list does not succeed.",
		Detail:      "Tries get, list, and watch, and the other verbs with dryRun, on names that do not exist or on an object of its own. Does not try deletecollection.",
		Reference:   discoveryText,
		PerResource: true,
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
	}
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
	missing.SetUID("00000000-0000-0000-0000-000000000000") // Not even a server that creates what is not there may do so.
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
