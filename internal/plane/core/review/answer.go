// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
)

func selfAccessReview(decide authorizer.Authorizer) answer {
	return of(func(ctx context.Context, who user.Info, review *authorizationv1.SelfSubjectAccessReview) error {
		return decideOn(ctx, decide, who, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes, &review.Status)
	})
}

func accessReview(decide authorizer.Authorizer) answer {
	return of(func(ctx context.Context, _ user.Info, review *authorizationv1.SubjectAccessReview) error {
		return decideFor(ctx, decide, review.Spec, &review.Status)
	})
}

func localAccessReview(decide authorizer.Authorizer) answer {
	return of(func(ctx context.Context, _ user.Info, review *authorizationv1.LocalSubjectAccessReview) error {
		if review.Spec.ResourceAttributes == nil || review.Spec.ResourceAttributes.Namespace != request.NamespaceValue(ctx) {
			return apierrors.NewBadRequest("spec.resourceAttributes.namespace: must be the namespace of the review")
		}
		return decideFor(ctx, decide, review.Spec, &review.Status)
	})
}

func decideFor(ctx context.Context, decide authorizer.Authorizer, spec authorizationv1.SubjectAccessReviewSpec, status *authorizationv1.SubjectAccessReviewStatus) error {
	if spec.User == "" && len(spec.Groups) == 0 {
		return apierrors.NewBadRequest("spec.user: give a user or groups")
	}
	who := &user.DefaultInfo{Name: spec.User, UID: spec.UID, Groups: spec.Groups, Extra: map[string][]string{}}
	for key, values := range spec.Extra {
		who.Extra[strings.ToLower(key)] = values
	}
	return decideOn(ctx, decide, who, spec.ResourceAttributes, spec.NonResourceAttributes, status)
}

func decideOn(ctx context.Context, decide authorizer.Authorizer, who user.Info, resource *authorizationv1.ResourceAttributes,
	path *authorizationv1.NonResourceAttributes, status *authorizationv1.SubjectAccessReviewStatus,
) error {
	attributes := authorizer.AttributesRecord{User: who}
	switch {
	case resource != nil && path == nil:
		attributes.ResourceRequest = true
		attributes.Verb, attributes.Namespace, attributes.Name = resource.Verb, resource.Namespace, resource.Name
		attributes.APIGroup, attributes.APIVersion = resource.Group, resource.Version
		attributes.Resource, attributes.Subresource = resource.Resource, resource.Subresource
	case resource == nil && path != nil:
		attributes.Verb, attributes.Path = path.Verb, path.Path
	default:
		return apierrors.NewBadRequest("spec: give either resourceAttributes or nonResourceAttributes")
	}
	decision, reason, err := decide.Authorize(ctx, attributes)
	*status = authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow,
		Denied:  decision == authorizer.DecisionDeny,
		Reason:  reason,
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return nil
}

func rulesReview(rules authorizer.RuleResolver) answer {
	return of(func(ctx context.Context, who user.Info, review *authorizationv1.SelfSubjectRulesReview) error {
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
	})
}

func selfReview(_ context.Context, who user.Info, review *authenticationv1.SelfSubjectReview) error {
	review.Status.UserInfo = userInfo(who)
	return nil
}

func tokenReview(tokens authenticator.Token) answer {
	return of(func(ctx context.Context, _ user.Info, review *authenticationv1.TokenReview) error {
		if review.Spec.Token == "" {
			return apierrors.NewBadRequest("spec.token: is required")
		}
		review.Status = authenticationv1.TokenReviewStatus{}
		if tokens == nil {
			return nil
		}
		if len(review.Spec.Audiences) > 0 {
			ctx = authenticator.WithAudiences(ctx, review.Spec.Audiences)
		}
		switch response, ok, err := tokens.AuthenticateToken(ctx, review.Spec.Token); {
		case err != nil:
			// An answer, too: it says why nothing is known.
			review.Status.Error = err.Error()
		case ok && response != nil && response.User != nil:
			review.Status.Authenticated = true
			review.Status.User = userInfo(response.User)
			review.Status.Audiences = response.Audiences
		}
		return nil
	})
}

func userInfo(who user.Info) authenticationv1.UserInfo {
	extra := make(map[string]authenticationv1.ExtraValue, len(who.GetExtra()))
	for key, values := range who.GetExtra() {
		extra[key] = values
	}
	return authenticationv1.UserInfo{Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extra}
}

// of turns an answer to one kind of review into one to any.
func of[R runtime.Object](f func(context.Context, user.Info, R) error) answer {
	return func(ctx context.Context, who user.Info, object runtime.Object) error {
		review, ok := object.(R)
		if !ok {
			return apierrors.NewBadRequest(fmt.Sprintf("not a review of this API: %T", object))
		}
		return f(ctx, who, review)
	}
}
