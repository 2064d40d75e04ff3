// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// DefaultReviewTimeout is how long a request is waited for where nothing else is said, as in
	// webhook configurations.
	DefaultReviewTimeout = 10 * time.Second
	// MaxReviewTimeout is the longest that a webhook configuration can have.
	MaxReviewTimeout = 30 * time.Second
)

// ReviewTimeout returns how long requests are waited for: as usual, or longer if a policy asks for it.
// Webhook configurations have whole seconds.
func ReviewTimeout(usual, asked time.Duration) time.Duration {
	wanted := min(max(usual, asked), MaxReviewTimeout)
	return max(time.Second, (wanted + time.Second - 1).Truncate(time.Second))
}

// Admission is what a policy wants of admission requests.
type Admission struct {
	// Enabled reports whether requests are to be evaluated. All else means nothing without it.
	Enabled bool
	// Enforces reports whether there are results that deny a request.
	Enforces bool
	// Closed reports whether a request is to be denied if the policy could not be evaluated
	// (failurePolicy Fail). Only a policy that enforces is closed.
	Closed bool
	// Warns reports whether there are results that warn the sender of a request.
	Warns bool
	// Operations are those that the policy may match.
	Operations []admissionv1.Operation
	// Targets name all that requests may be about: beside [Policy.Targets] also what a scan never
	// sees, such as subresources, and resources of which the policy only matches the deletion.
	Targets []Target
	// Roles reports whether [Request.Roles] is read.
	Roles bool
	// Timeout is the policy's own limit for a request; 0 if it has none.
	Timeout time.Duration
}

// Request is an admission request under evaluation. Nothing in it is changed.
type Request struct {
	// AdmissionRequest is what the API server has sent.
	*admissionv1.AdmissionRequest
	// New and Old are its objects, decoded; nil where there is none. Both are objects of
	// AdmissionRequest.Kind, unless it is about a subresource.
	New, Old *unstructured.Unstructured
	// NamespaceLabels are those of its namespace, or, if it is about a namespace, that one's own.
	NamespaceLabels map[string]string
	// NamespaceObject is that namespace; nil where only the labels are known.
	NamespaceObject *corev1.Namespace
	// Roles returns the roles (namespace:name) and cluster roles of the user.
	Roles func() (roles, clusterRoles []string, err error)
}

// Subject returns the object that results are about: the new one, or the old one where there is no
// new one. It is nil for requests without an object.
func (r *Request) Subject() *unstructured.Unstructured {
	if r.New != nil {
		return r.New
	}
	return r.Old
}

// Verdict is a [Result] and what follows from it for the request.
type Verdict struct {
	Result
	// Deny reports whether the request is to be denied; Warn, whether its sender is to be warned.
	Deny, Warn bool
}

// Admitted is what a policy says about an object at admission. The request may still fail: it is
// true once an object with this UID and content exists.
type Admitted struct {
	Policy Identity
	// Fingerprint is that of the policy: a policy that has changed since says something else.
	Fingerprint string
	Resource    schema.GroupVersionResource
	Subject     Reference
	Content     Content
	// Results are none if the policy has nothing to say, and then remove those of before.
	Results []Result
	// Deleted tells that the request deletes the subject: the results of before go with it, and stay
	// if it does.
	Deleted bool
	// Time is when the request came.
	Time time.Time
}

// WantsReview reports whether requests are evaluated for a policy: for all that are enabled for
// admission, or only for those with which a request can fail or warn, or whose results no scan
// finds.
func WantsReview(p Policy, all bool) bool {
	wants := p.Admission()
	return wants.Enabled && (all || wants.Enforces || wants.Warns || p.Reported() && !p.Background())
}
