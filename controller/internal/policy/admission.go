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
	// DefaultReviewTimeout is the default time limit of a request, as in webhook configurations.
	DefaultReviewTimeout = 10 * time.Second
	// MaxReviewTimeout is the longest time limit that a webhook configuration can have.
	MaxReviewTimeout = 30 * time.Second
)

// ReviewTimeout returns the time limit of a request: the usual one, or a longer one if a policy asks for it, in
// whole seconds, as webhook configurations require.
func ReviewTimeout(usual, asked time.Duration) time.Duration {
	wanted := min(max(usual, asked), MaxReviewTimeout)
	return max(time.Second, (wanted + time.Second - 1).Truncate(time.Second))
}

// Admission says for which admission requests a policy is evaluated, and how.
type Admission struct {
	// Enabled is true if requests are to be evaluated. If not, all other fields but Enforces are meaningless.
	Enabled bool
	// Enforces is true if some results deny a request.
	Enforces bool
	// Closed is true if a request is to be denied when the policy can't be evaluated (failurePolicy Fail). Only
	// a policy that enforces is closed.
	Closed bool
	// Warns is true if some results warn the sender of a request.
	Warns bool
	// Operations are those that the policy may match.
	Operations []admissionv1.Operation
	// Targets are what requests may be about: [Policy.Targets], and what a scan never sees, such as
	// subresources, and resources of which the policy matches only the deletion.
	Targets []Target
	// Roles is true if the policy reads [Request.Roles].
	Roles bool
	// Timeout is the policy's own limit for a request; 0 if it has none.
	Timeout time.Duration
}

// Request is an admission request under evaluation. An evaluation must not change it.
type Request struct {
	// AdmissionRequest is what the API server has sent.
	*admissionv1.AdmissionRequest
	// New and Old are its objects, decoded; nil where there is none. Both are objects of
	// AdmissionRequest.Kind, unless it is about a subresource.
	New, Old *unstructured.Unstructured
	// NamespaceLabels are the labels of its namespace or, if it is about a namespace, of that one.
	NamespaceLabels map[string]string
	// NamespaceObject is that namespace; nil if only the labels are known.
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

// Verdict is a [Result] and its consequences for the request.
type Verdict struct {
	Result
	// Deny is true if the request is to be denied, Warn if its sender is to be warned.
	Deny, Warn bool
}

// Admitted has the results of a policy for an object at admission. Since the request may still fail, they are
// true only once an object with this UID and content exists.
type Admitted struct {
	Policy Identity
	// Fingerprint is the policy's: if it has changed since, the results don't count.
	Fingerprint string
	Resource    schema.GroupVersionResource
	Subject     Reference
	Content     Content
	// Results replace the earlier ones. They are empty if the policy does not apply.
	Results []Result
	// Deleted is true if the request deletes the subject: its results are removed with it, if it is deleted.
	Deleted bool
	// Time is when the request came.
	Time time.Time
	// Adopted is true for results of Kyverno's own controllers. Then Fingerprint and Content are empty, Results
	// replace earlier ones of the same rules only, and Subject has no UID if Kyverno did not know it, and
	// its Kind only if there is no Resource.Resource.
	Adopted bool
}

// Enforces reports whether admission would refuse a subject for a failure of a rule, rather than only tell it.
func Enforces(p Policy, rule string, subject Subject) bool {
	if says, ok := p.(interface{ Enforces(string, Subject) bool }); ok {
		return says.Enforces(rule, subject)
	}
	return p.Admission().Enforces
}

// WantsReview reports whether requests are evaluated for a policy: if all is set, for every policy that is
// enabled for admission; otherwise for those that can deny or warn, and those whose results no scan finds.
func WantsReview(p Policy, all bool) bool {
	wants := p.Admission()
	return wants.Enabled && (all || wants.Enforces || wants.Warns || p.Reported() && !p.Background())
}
