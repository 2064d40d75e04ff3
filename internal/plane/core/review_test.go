// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReviews asks in both media types.
func TestReviews(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	for name, test := range map[string]func(*testing.T, *testServer, string){
		"access":       testAccessReviews,
		"local-access": testLocalAccessReview,
		"rules":        testRulesReview,
		"self":         testSelfReview,
		"tokens":       testTokenReviews,
	} {
		for _, mediaType := range []string{protobuf, jsonType} {
			t.Run(name+"/"+mediaType, func(t *testing.T) {
				t.Parallel()
				test(t, server, mediaType)
			})
		}
	}
}

func mayDo(verb string) *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{Verb: verb, Resource: "pods", Namespace: "ns"}
}

func testAccessReviews(t *testing.T, server *testServer, mediaType string) {
	reviews := server.speaking(t, mediaType).AuthorizationV1()
	for _, test := range []struct {
		user, verb string
		want       bool
	}{{"alice", "get", true}, {"alice", "fly", false}, {"bob", "get", false}} {
		other := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: test.user, ResourceAttributes: mayDo(test.verb)}}
		other, err := reviews.SubjectAccessReviews().Create(t.Context(), other, metav1.CreateOptions{})
		if err != nil || other.Status.Allowed != test.want {
			t.Errorf("may %s %s: %v, %v", test.user, test.verb, other.Status, err)
		}
		if test.user != "alice" {
			continue
		}
		self := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: mayDo(test.verb)}}
		self, err = reviews.SelfSubjectAccessReviews().Create(t.Context(), self, metav1.CreateOptions{})
		if err != nil || self.Status.Allowed != test.want {
			t.Errorf("may I %s: %v, %v", test.verb, self.Status, err)
		}
	}
	for problem, spec := range map[string]authorizationv1.SubjectAccessReviewSpec{
		"nobody":  {ResourceAttributes: mayDo("get")},
		"nothing": {User: "alice"},
		"both":    {User: "alice", ResourceAttributes: mayDo("get"), NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/"}},
	} {
		if _, err := reviews.SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{}); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", problem, err)
		}
	}
}

func testLocalAccessReview(t *testing.T, server *testServer, mediaType string) {
	reviews := server.speaking(t, mediaType).AuthorizationV1()
	for namespace, inside := range map[string]bool{"ns": true, "elsewhere": false} {
		review := &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec:       authorizationv1.SubjectAccessReviewSpec{User: "alice", ResourceAttributes: mayDo("get")},
		}
		review, err := reviews.LocalSubjectAccessReviews(namespace).Create(t.Context(), review, metav1.CreateOptions{})
		if inside && (err != nil || !review.Status.Allowed) || !inside && !apierrors.IsBadRequest(err) {
			t.Errorf("in %s: %v, %v", namespace, review, err)
		}
	}
}

func testRulesReview(t *testing.T, server *testServer, mediaType string) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "ns"}}
	review, err := server.speaking(t, mediaType).AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || len(review.Status.ResourceRules) != 1 || review.Status.ResourceRules[0].Resources[0] != "pods" {
		t.Errorf("rules: %v, %v", review, err)
	}
}

func testSelfReview(t *testing.T, server *testServer, mediaType string) {
	review, err := server.speaking(t, mediaType).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != "alice" {
		t.Errorf("I am %v, %v", review, err)
	}
}

func testTokenReviews(t *testing.T, server *testServer, mediaType string) {
	reviews := server.speaking(t, mediaType).AuthenticationV1().TokenReviews()
	for token, want := range map[string]string{testToken: "alice", "wrong": ""} {
		review, err := reviews.Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil || review.Status.Authenticated != (want != "") || review.Status.User.Username != want {
			t.Errorf("a token of %q: %v, %v", want, review, err)
		}
	}
	if _, err := reviews.Create(t.Context(), &authenticationv1.TokenReview{}, metav1.CreateOptions{}); !apierrors.IsBadRequest(err) {
		t.Errorf("no token: %v", err)
	}
}
