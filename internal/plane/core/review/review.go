// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review serves the APIs with which clients and servers ask a server about
// users: who am I (kubectl auth whoami), may I do this (kubectl auth can-i), what may I
// do (kubectl auth can-i --list), and, for extension servers, whose token is this and
// may this user do that. The answers come from the server's own authorizer and
// authenticator; nothing is stored. It starts no goroutine.
package review

import (
	"context"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Kind is a kind of review.
type Kind struct {
	// GroupVersion in which it is served.
	GroupVersion schema.GroupVersion
	// New returns an empty review.
	New func() runtime.Object

	kind, resource string
	namespaced     bool
}

// Kinds returns all kinds of reviews.
func Kinds() []Kind {
	authentication, authorization := authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion
	return []Kind{
		{authentication, func() runtime.Object { return &authenticationv1.SelfSubjectReview{} }, "SelfSubjectReview", "selfsubjectreviews", false},
		{authentication, func() runtime.Object { return &authenticationv1.TokenReview{} }, "TokenReview", "tokenreviews", false},
		{authorization, func() runtime.Object { return &authorizationv1.LocalSubjectAccessReview{} }, "LocalSubjectAccessReview", "localsubjectaccessreviews", true},
		{authorization, func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }, "SelfSubjectAccessReview", "selfsubjectaccessreviews", false},
		{authorization, func() runtime.Object { return &authorizationv1.SelfSubjectRulesReview{} }, "SelfSubjectRulesReview", "selfsubjectrulesreviews", false},
		{authorization, func() runtime.Object { return &authorizationv1.SubjectAccessReview{} }, "SubjectAccessReview", "subjectaccessreviews", false},
	}
}

// Storages returns what serves each kind, by the name of its resource. If tokens is nil,
// no token is valid.
func Storages(decide authorizer.Authorizer, rules authorizer.RuleResolver, tokens authenticator.Token) map[schema.GroupVersion]map[string]rest.Storage {
	answers := map[string]answer{
		"SelfSubjectReview":        of(selfReview),
		"TokenReview":              tokenReview(tokens),
		"LocalSubjectAccessReview": localAccessReview(decide),
		"SelfSubjectAccessReview":  selfAccessReview(decide),
		"SelfSubjectRulesReview":   rulesReview(rules),
		"SubjectAccessReview":      accessReview(decide),
	}
	storages := map[schema.GroupVersion]map[string]rest.Storage{}
	for _, kind := range Kinds() {
		if storages[kind.GroupVersion] == nil {
			storages[kind.GroupVersion] = map[string]rest.Storage{}
		}
		storages[kind.GroupVersion][kind.resource] = &storage{kind: kind, answer: answers[kind.kind]}
	}
	return storages
}

// answer fills in the status of a review. who asks is never nil.
type answer func(ctx context.Context, who user.Info, review runtime.Object) error

// storage answers reviews and keeps none.
type storage struct {
	kind   Kind
	answer answer
}

var (
	_ rest.Creater              = &storage{}
	_ rest.Scoper               = &storage{}
	_ rest.SingularNameProvider = &storage{}
	_ rest.KindProvider         = &storage{}
)

// New implements rest.Storage.
func (s *storage) New() runtime.Object { return s.kind.New() }

// Destroy implements rest.Storage.
func (s *storage) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *storage) NamespaceScoped() bool { return s.kind.namespaced }

// Kind implements rest.KindProvider.
func (s *storage) Kind() string { return s.kind.kind }

// GetSingularName implements rest.SingularNameProvider.
func (s *storage) GetSingularName() string { return strings.ToLower(s.kind.kind) }

// Create implements rest.Creater.
func (s *storage) Create(ctx context.Context, review runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewUnauthorized("the request has no user")
	}
	if validate != nil {
		if err := validate(ctx, review.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := s.answer(ctx, who, review); err != nil {
		return nil, err
	}
	return review, nil
}
