// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/docket-project/docket/internal/plane/aggregator"
)

const (
	accessReviewPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	tokenReviewPath  = "/apis/authentication.k8s.io/v1/tokenreviews"
	maxReview        = 1 << 20
	reviewTimeout    = 15 * time.Second
	// prober is the user as whom aggregators check that a server is available.
	prober = "system:kube-aggregator"
)

// reviews answers, in place of the cluster, what extension servers ask about the one user
// whom the gateway serves: they run with the owner's credentials, which usually may not
// create such reviews. Everything else is passed to next.
type reviews struct {
	single *single
	trust  *trust
	next   http.Handler
}

// ServeHTTP implements http.Handler.
func (v *reviews) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer func(http.ResponseWriter, *http.Request)
	switch {
	case r.Method == http.MethodPost && r.URL.Path == accessReviewPath:
		answer = v.access
	case r.Method == http.MethodPost && r.URL.Path == tokenReviewPath:
		answer = v.tokens
	case r.Method == http.MethodGet && v.trust.isAsked(r):
		answer = v.trust.serve
	default:
		v.next.ServeHTTP(w, r)
		return
	}
	if err := v.single.admit(r); err != nil {
		fail(w, r, err)
		return
	}
	answer(w, r)
}

func (v *reviews) access(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if err := readObject(r, &review); err != nil {
		fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	status, err := v.decide(ctx, &review.Spec)
	if err != nil {
		fail(w, r, err)
		return
	}
	review.Status = status
	writeObject(w, r, authorizationv1.SchemeGroupVersion.String(), "SubjectAccessReview", &review.TypeMeta, &review)
}

// decide answers about the owner as the cluster would.
func (v *reviews) decide(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	if spec.User == prober && slices.Contains(spec.Groups, user.SystemPrivilegedGroup) {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "the gateway checks that the server is there"}, nil
	}
	owner, err := v.single.owner(ctx)
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, err
	}
	if spec.User != owner.GetName() || !within(spec.Groups, owner.GetGroups()) {
		return authorizationv1.SubjectAccessReviewStatus{
			Denied: true, Reason: fmt.Sprintf("docket gateway serves only %q, and doesn't know what %q may do", owner.GetName(), spec.User),
		}, nil
	}
	answer, err := v.single.ask.may(ctx, "", nil, authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: spec.ResourceAttributes, NonResourceAttributes: spec.NonResourceAttributes,
	})
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, aggregator.Unavailable("%v", err)
	}
	return authorizationv1.SubjectAccessReviewStatus{Allowed: answer.allowed, Reason: answer.reason}, nil
}

func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func (v *reviews) tokens(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	if err := readObject(r, &review); err != nil {
		fail(w, r, err)
		return
	}
	given := review.Spec.Token
	review.Spec.Token = "" // It need not be sent back.
	if subtle.ConstantTimeCompare([]byte(given), []byte(v.single.token)) == 1 {
		owner, err := v.single.owner(r.Context())
		if err != nil {
			fail(w, r, err)
			return
		}
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: infoOf(owner), Audiences: review.Spec.Audiences}
	} else {
		review.Status = authenticationv1.TokenReviewStatus{Error: "docket gateway knows only its own token"}
	}
	writeObject(w, r, authenticationv1.SchemeGroupVersion.String(), "TokenReview", &review.TypeMeta, &review)
}

func infoOf(who user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups()}
	for key, values := range who.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}

// readObject decodes a body of any of the encodings that clients use.
func readObject(r *http.Request, into runtime.Object) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxReview+1))
	if err != nil {
		return apierrors.NewBadRequest("read the body: " + err.Error())
	}
	if len(body) > maxReview {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d bytes", maxReview))
	}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, into); err != nil {
		return apierrors.NewBadRequest("the body is not a review: " + err.Error())
	}
	return nil
}

// writeObject answers in JSON, which every client understands.
func writeObject(w http.ResponseWriter, r *http.Request, version, kind string, meta *metav1.TypeMeta, object any) {
	meta.APIVersion, meta.Kind = version, kind
	body, err := json.Marshal(object)
	if err != nil {
		fail(w, r, apierrors.NewInternalError(err))
		return
	}
	w.Header().Set("Content-Type", acceptJSON)
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = w.Write(append(body, '\n')) // A client that left needs nothing.
}
