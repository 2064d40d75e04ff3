// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func accessReview(decide authorizer.Authorizer) answer {
	return func(ctx context.Context, who user.Info, object runtime.Object) error {
		review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
		if !ok {
			return wrongType(object)
		}
		attributes, err := attributesOf(who, review.Spec)
		if err != nil {
			return err
		}
		decision, reason, err := decide.Authorize(ctx, attributes)
		review.Status = authorizationv1.SubjectAccessReviewStatus{
			Allowed: decision == authorizer.DecisionAllow,
			Denied:  decision == authorizer.DecisionDeny,
			Reason:  reason,
		}
		if err != nil {
			review.Status.EvaluationError = err.Error()
		}
		return nil
	}
}

func attributesOf(who user.Info, spec authorizationv1.SelfSubjectAccessReviewSpec) (authorizer.AttributesRecord, error) {
	switch resource, path := spec.ResourceAttributes, spec.NonResourceAttributes; {
	case resource != nil && path == nil:
		return authorizer.AttributesRecord{
			User: who, ResourceRequest: true,
			Verb: resource.Verb, Namespace: resource.Namespace, Name: resource.Name,
			APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource, Subresource: resource.Subresource,
		}, nil
	case resource == nil && path != nil:
		return authorizer.AttributesRecord{User: who, Verb: path.Verb, Path: path.Path}, nil
	}
	return authorizer.AttributesRecord{}, apierrors.NewBadRequest("spec: give either resourceAttributes or nonResourceAttributes")
}

func rulesReview(rules authorizer.RuleResolver) answer {
	return func(ctx context.Context, who user.Info, object runtime.Object) error {
		review, ok := object.(*authorizationv1.SelfSubjectRulesReview)
		if !ok {
			return wrongType(object)
		}
		if review.Spec.Namespace == "" {
			return apierrors.NewBadRequest("spec.namespace: is required")
		}
		resources, paths, incomplete, err := rules.RulesFor(ctx, who, review.Spec.Namespace)
		review.Status = authorizationv1.SubjectRulesReviewStatus{
			ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: incomplete,
		}
		if err != nil {
			review.Status.EvaluationError = err.Error()
		}
		for _, rule := range resources {
			review.Status.ResourceRules = append(review.Status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources(), ResourceNames: rule.GetResourceNames(),
			})
		}
		for _, rule := range paths {
			review.Status.NonResourceRules = append(review.Status.NonResourceRules, authorizationv1.NonResourceRule{
				Verbs: rule.GetVerbs(), NonResourceURLs: rule.GetNonResourceURLs(),
			})
		}
		return nil
	}
}

func selfReview(_ context.Context, who user.Info, object runtime.Object) error {
	review, ok := object.(*authenticationv1.SelfSubjectReview)
	if !ok {
		return wrongType(object)
	}
	extra := make(map[string]authenticationv1.ExtraValue, len(who.GetExtra()))
	for key, values := range who.GetExtra() {
		extra[key] = values
	}
	review.Status.UserInfo = authenticationv1.UserInfo{
		Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extra,
	}
	return nil
}

func wrongType(object runtime.Object) error {
	return apierrors.NewBadRequest(fmt.Sprintf("not a review of this API: %T", object))
}
