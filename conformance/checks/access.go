// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaAccess = "Access"
	// nobody is a user with no rights except those of everybody.
	nobody = "docket-conformance-nobody"
	// strangers is the header of a request with a token that nobody has.
	strangers = "Bearer docket-conformance-no-such-token"
)

// asNobody returns a request in the name of the user without rights.
func asNobody(r runner.Request) runner.Request {
	return r.With("Impersonate-User", nobody).MayBeRefused()
}

// withoutUser returns a request without credentials.
func withoutUser(r runner.Request) runner.Request {
	r.Anonymous = true
	return r
}

// noRights reports whether the answer is that somebody may not do this.
func noRights(response *runner.Response) bool {
	return response.Code == http.StatusUnauthorized || response.Code == http.StatusForbidden
}

// refusedNobody reports whether the user without rights was refused, not we who asked in that name.
func refusedNobody(response *runner.Response) bool {
	return response.Code == http.StatusForbidden && !bytes.Contains(response.Body, []byte("impersonat"))
}

// someObject is the path of an object of any resource that does not exist.
func someObject(p *runner.Probe) string {
	at := slices.IndexFunc(p.Resources, func(resource *runner.Resource) bool { return resource.Has("get") })
	if at < 0 {
		runner.Leave("no resource has the verb get")
	}
	return p.Resources[at].ObjectPath(p.Namespace, p.Name())
}

var access = []runner.Check{
	{
		ID: "access-anonymous", Area: areaAccess, PerResource: true, Verbs: []string{"list"},
		Rule:      "Requests for objects without credentials get 401 or 403.",
		Detail:    "Lists objects and deletes one that does not exist, without credentials. Skipped if a SubjectAccessReview says that everybody may do so.",
		Reference: "https://kubernetes.io/docs/reference/access-authn-authz/authentication/" + "#anonymous-requests",
		Run: func(p *runner.Probe) {
			if !p.HasCredentials {
				runner.Leave("the kubeconfig has no credentials, so that every request is without them")
			}
			name := p.Name()
			for _, try := range []struct {
				verb, name string
				request    runner.Request
			}{
				{"list", "", runner.Get(p.Collection(), "limit", "1")},
				{"delete", name, runner.Delete(p.Path(name), runner.DeleteNow())},
			} {
				if !p.Resource.Has(try.verb) {
					continue
				}
				response := p.Send(withoutUser(try.request))
				if noRights(response) {
					continue
				}
				review := askFor(p, "system:anonymous", "system:unauthenticated", try.verb, try.name)
				if review != nil && review.allowed {
					runner.Leave("the server says that everybody has the right to %s objects", try.verb)
				}
				response.Want(http.StatusUnauthorized, http.StatusForbidden)
				return
			}
		},
	},
	{
		ID: "access-bad-token", Area: areaAccess,
		Rule:      "A request with an invalid bearer token gets 401 and a Status with reason Unauthorized.",
		Detail:    "Gets an object that does not exist, with a made-up token.",
		Reference: "https://kubernetes.io/docs/reference/access-authn-authz/authentication/" + "#authentication-strategies",
		Run: func(p *runner.Probe) {
			path := someObject(p)
			p.Send(withoutUser(runner.Get(path).With("Authorization", strangers))).WantStatus(metav1.StatusReasonUnauthorized, http.StatusUnauthorized)
		},
	},
	{
		ID: "access-spoofed-headers", Area: areaAccess,
		Rule:      "The server trusts the headers X-Remote-User and X-Remote-Group only from a proxy that presents its client certificate.",
		Detail:    "Gets an object with these headers, once without credentials and, if the server allows impersonation, once as a user without rights. Both are refused without the headers.",
		Reference: "https://kubernetes.io/docs/reference/access-authn-authz/authentication/" + "#authenticating-proxy",
		Run: func(p *runner.Probe) {
			path := someObject(p)
			tried := false
			for _, request := range []runner.Request{withoutUser(runner.Get(path)), asNobody(runner.Get(path))} {
				response := p.Send(request)
				if !noRights(response) {
					continue // There is nothing to win.
				}
				tried = true
				request = request.With("X-Remote-User", "admin").With("X-Remote-Group", "system:masters")
				response = p.Send(request)
				if !noRights(response) {
					response.Fail("401 Unauthorized or 403 Forbidden, as without the headers X-Remote-User and X-Remote-Group")
				}
			}
			if !tried {
				runner.Leave("the server lets everybody get objects")
			}
		},
	},
	{
		ID: "access-impersonation", Area: areaAccess, PerResource: true, Verbs: []string{"get"},
		Rule:      "A request with the header Impersonate-User has the rights of that user. If the user may not do it, the answer is 403 with a message that names the user and the resource.",
		Detail:    "Gets an object as a user who does not exist. Skipped if the user of the kubeconfig may not impersonate, or if a SubjectAccessReview says that everybody may get the object.",
		Reference: "https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/",
		Run: func(p *runner.Probe) {
			if !p.HasCore {
				runner.Leave("the server has no core API: users come from the server in front of it")
			}
			name := p.Name()
			response := p.Send(asNobody(runner.Get(p.Path(name))))
			switch {
			case response.Code == http.StatusForbidden && !refusedNobody(response):
				runner.Leave("not allowed: impersonate users")
			case response.Code != http.StatusForbidden:
				review := askFor(p, nobody, "system:authenticated", "get", name)
				switch {
				case review == nil:
					runner.Leave("the server does not say whether everybody may get objects")
				case review.allowed:
					runner.Leave("the server says that everybody has the right to get objects")
				}
				response.Fail("403 Forbidden: the user %s has no right to get objects", nobody)
			}
			for _, word := range []string{nobody, p.Resource.Name} {
				if !bytes.Contains(response.Body, []byte(word)) {
					response.Fail("a message that names the user %s and the resource %s", nobody, p.Resource.Name)
				}
			}
		},
	},
	{
		ID: "access-review", Area: areaAccess, PerResource: true, Verbs: []string{"get"},
		Rule:      "The server enforces what its SelfSubjectAccessReview and SubjectAccessReview say: it refuses what they deny, and nothing else.",
		Detail:    "Asks whether an object may be read and reads it: as the user of the kubeconfig and, if the server allows impersonation, as a user without rights.",
		Reference: "https://kubernetes.io/docs/reference/access-authn-authz/authorization/",
		Run: func(p *runner.Probe) {
			name := p.Name()
			request := runner.Get(p.Path(name)).MayBeRefused()
			review := askFor(p, "", "", "get", name)
			if review == nil {
				runner.Leave("the server does not answer a SelfSubjectAccessReview")
			}
			response := p.Send(request)
			if review.allowed == (response.Code == http.StatusForbidden) {
				review.wrong(response)
			}
			// If nobody is not refused, that may be because the header is ignored, which is another rule.
			response = p.Send(asNobody(request))
			if !refusedNobody(response) {
				return
			}
			review = askFor(p, nobody, "system:authenticated", "get", name)
			if review != nil && review.allowed {
				review.wrong(response)
			}
		},
	},
	{
		ID: "forbidden-answer", Area: areaAccess, PerResource: true, Verbs: []string{"get"},
		Rule:      "A request that the user may not make gets 403 and a Status with reason Forbidden, code 403, and details that name the resource.",
		Detail:    "Gets an object as a user without rights, or without credentials.",
		Reference: "https://kubernetes.io/docs/reference/access-authn-authz/authorization/",
		Run: func(p *runner.Probe) {
			request := runner.Get(p.Path(p.Name()))
			response := p.Send(asNobody(request))
			if !refusedNobody(response) {
				response = p.Send(withoutUser(request))
			}
			if response.Code != http.StatusForbidden {
				runner.Leave("there is no user known to lack the right to get objects")
			}
			response.WantStatus(metav1.StatusReasonForbidden, http.StatusForbidden)
			status, _ := response.Status()
			if d := status.Details; d == nil || d.Kind != p.Resource.Name || d.Group != p.GroupVersion.Group {
				response.Fail("a Status whose details.kind is %q and whose details.group is %q", p.Resource.Name, p.GroupVersion.Group)
			}
		},
	},
}

// verdict is what a server says about rights.
type verdict struct {
	*runner.Response

	allowed bool
}

// wrong fails the check: the server does something else.
func (v *verdict) wrong(done *runner.Response) {
	v.FailBecause(fmt.Sprintf("%s is answered with %d", done.Sent.Method+" "+done.Sent.URL, done.Code), "status.allowed to be %t", !v.allowed)
}

// askFor asks the server whether a user of a group, or we if the user is empty, may do something to
// an object of the resource. It returns nil if the server does not say.
func askFor(p *runner.Probe, user, group, verb, name string) *verdict {
	attributes := map[string]any{"verb": verb, "group": p.GroupVersion.Group, "version": p.GroupVersion.Version, "resource": p.Resource.Name, "namespace": p.Namespace, "name": name}
	kind, resource, spec := "SelfSubjectAccessReview", "selfsubjectaccessreviews", map[string]any{"resourceAttributes": attributes}
	if user != "" {
		kind, resource = "SubjectAccessReview", "subjectaccessreviews"
		spec["user"], spec["groups"] = user, []string{group}
	}
	review := map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
	response := p.Send(runner.Post("/apis/authorization.k8s.io/v1/"+resource, review).MayBeRefused())
	if !response.OK() {
		return nil
	}
	answer := response.Fields()
	allowed, _, err := unstructured.NestedBool(answer, "status", "allowed")
	if answer == nil || err != nil {
		return nil // It does not say.
	}
	return &verdict{response, allowed}
}
