// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

const areaReads = "Reading"

func reads() []rule {
	return []rule{getObject{}, getNotFound{}}
}

type getObject struct{}

func (r getObject) check() runner.Check {
	return runner.Check{
		ID: "get-object", Area: areaReads,
		Rule:        "GET returns the object, with its kind, apiVersion, name, and namespace.",
		Detail:      "Creates an object and gets it. Nothing else in the object is checked.",
		Reference:   apiConventions + "#resources",
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (getObject) run(p *runner.Probe) {
	object := p.New()
	p.Prepare("create an object", runner.Post(p.Collection(), object))
	response := send(p, runner.Get(p.Path(object.GetName())), code(http.StatusOK))
	wantIdentity(p, response, object.GetName())
}

func (getObject) broken() broken.Server {
	return broken.That("answers GET with names of its own for kinds, and takes them for the kinds", ownKinds)
}

// ownKinds changes the kinds of objects that are read, be it as JSON or YAML, and has them back when they
// are sent.
func ownKinds(next http.Handler) http.Handler {
	const suffix = "Object"
	yamlKind := regexp.MustCompile(`(?m)^kind: (\w+)$`)
	changing := func(r *http.Request) bool {
		return r.Method != http.MethodGet && broken.PlaceOf(r) != nil && !broken.IsCore(r)
	}
	sent := broken.OnBody(changing, func(_ *http.Request, object map[string]any) bool {
		kind, _ := object["kind"].(string)
		own, changed := strings.CutSuffix(kind, suffix)
		object["kind"] = own
		return changed
	})
	read := broken.OnAnswer(broken.AsObject(broken.Single), func(_ *http.Request, a *broken.Answer) {
		if !a.OK() {
			return
		}
		a.Edit(func(object map[string]any) {
			if kind, ok := object["kind"].(string); ok {
				object["kind"] = kind + suffix
			}
		})
		a.Body = yamlKind.ReplaceAll(a.Body, []byte("kind: ${1}"+suffix))
	})
	return sent(read(next))
}

type getNotFound struct{}

func (r getNotFound) check() runner.Check {
	return runner.Check{
		ID: "get-not-found", Area: areaReads,
		Rule:        "GET of an object that does not exist gets 404 and a Status with reason NotFound.",
		Detail:      "Gets a name that does not exist. The Status must have it in details.name.",
		Reference:   apiConventions + "#http-status-codes",
		PerResource: true, Verbs: []string{"get"}, Run: r.run,
	}
}

func (getNotFound) run(p *runner.Probe) {
	name := p.Name()
	response := send(p, runner.Get(p.Path(name)), status(metav1.StatusReasonNotFound, http.StatusNotFound))
	if status, _ := response.Status(); status.Details == nil || status.Details.Name != name {
		response.Fail("a Status whose details.name is %q", name)
	}
}

func (getNotFound) broken() broken.Server {
	return broken.That("answers 404 with a text instead of a Status", broken.OnAnswer(broken.Method(http.MethodGet, broken.Single), func(_ *http.Request, a *broken.Answer) {
		if a.Code == http.StatusNotFound {
			a.Header.Set("Content-Type", "text/plain")
			a.Body = []byte("404 page not found\n")
		}
	}))
}
