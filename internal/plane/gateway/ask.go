// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/plane/aggregator"
)

const (
	// answerLifetime is how long the cluster's answers are cached, as in extension
	// servers.
	answerLifetime = 10 * time.Second
	answersKept    = 8192
	askTimeout     = 10 * time.Second
)

// answers caches what the cluster said, except for errors. Equal questions are asked only
// once at a time.
type answers[T any] struct {
	kept *cache.LRUExpireCache
	same singleflight.Group
}

func newAnswers[T any]() *answers[T] {
	return &answers[T]{kept: cache.NewLRUExpireCache(answersKept)}
}

// get returns the kept answer for key, or that of ask.
func (a *answers[T]) get(ctx context.Context, key [sha256.Size]byte, ask func(context.Context) (T, error)) (T, error) {
	if kept, ok := a.kept.Get(key); ok {
		if answer, ok := kept.(T); ok {
			return answer, nil
		}
	}
	// A caller who gives up must not fail others who wait for the same answer.
	ctx = context.WithoutCancel(ctx)
	got, err, _ := a.same.Do(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		answer, err := ask(ctx)
		if err == nil {
			a.kept.Add(key, answer, answerLifetime)
		}
		return answer, err
	})
	answer, _ := got.(T)
	return answer, err
}

// verdict is the answer to an access review.
type verdict struct {
	allowed bool
	reason  string
}

// asker asks the cluster who a user is and what they may do, with the credentials of
// its configuration, or with a caller's token if one is given.
type asker struct {
	client *kubernetes.Clientset
	users  *answers[user.Info]
	access *answers[verdict]
}

func newAsker(config *rest.Config) (*asker, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // The cluster has limits of its own.
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	return &asker{client: client, users: newAnswers[user.Info](), access: newAnswers[verdict]()}, nil
}

// whoAmI returns who the cluster takes the holder of token for; "" is the asker itself.
// It needs no rights.
func (a *asker) whoAmI(ctx context.Context, token string) (user.Info, error) {
	return a.users.get(ctx, sha256.Sum256([]byte(token)), func(ctx context.Context) (user.Info, error) {
		var review authenticationv1.SelfSubjectReview
		request := a.client.AuthenticationV1().RESTClient().Post().Resource("selfsubjectreviews")
		err := as(request, token, nil).Body(&authenticationv1.SelfSubjectReview{}).Do(ctx).Into(&review)
		if err != nil {
			return nil, refusal("SelfSubjectReview", err)
		}
		return userOf(review.Status.UserInfo), nil
	})
}

// whoIs returns who the cluster takes the holder of token for; nil if it doesn't know
// the token. It needs the right to create TokenReviews.
func (a *asker) whoIs(ctx context.Context, token string) (user.Info, error) {
	return a.users.get(ctx, sha256.Sum256([]byte(token)), func(ctx context.Context) (user.Info, error) {
		var review authenticationv1.TokenReview
		question := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		err := a.client.AuthenticationV1().RESTClient().Post().Resource("tokenreviews").Body(question).Do(ctx).Into(&review)
		switch {
		case err != nil:
			return nil, aggregator.Unavailable("the cluster doesn't answer the gateway's TokenReview: %v", err)
		case !review.Status.Authenticated:
			return nil, unauthorized("the cluster doesn't know the token")
		}
		return userOf(review.Status.User), nil
	})
}

// may asks whether the holder of token may do something, as somebody else unless that
// is nil. It needs no rights.
func (a *asker) may(ctx context.Context, token string, other user.Info, spec authorizationv1.SelfSubjectAccessReviewSpec) (verdict, error) {
	var who user.DefaultInfo
	if other != nil {
		who = user.DefaultInfo{Name: other.GetName(), UID: other.GetUID(), Groups: other.GetGroups(), Extra: other.GetExtra()}
	}
	key, err := json.Marshal([]any{token, other != nil, who, spec})
	if err != nil {
		return verdict{}, err
	}
	return a.access.get(ctx, sha256.Sum256(key), func(ctx context.Context) (verdict, error) {
		var review authorizationv1.SelfSubjectAccessReview
		request := a.client.AuthorizationV1().RESTClient().Post().Resource("selfsubjectaccessreviews")
		err := as(request, token, other).Body(&authorizationv1.SelfSubjectAccessReview{Spec: spec}).Do(ctx).Into(&review)
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return verdict{reason: err.Error()}, nil
		}
		if err != nil {
			return verdict{}, fmt.Errorf("ask the cluster (SelfSubjectAccessReview): %w", err)
		}
		return verdict{allowed: review.Status.Allowed && !review.Status.Denied, reason: review.Status.Reason}, nil
	})
}

// namespace returns a namespace as the holder of token sees it, or somebody else.
func (a *asker) namespace(ctx context.Context, token string, other user.Info, name string) (*corev1.Namespace, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var namespace corev1.Namespace
	err := as(a.client.CoreV1().RESTClient().Get().Resource("namespaces").Name(name), token, other).Do(ctx).Into(&namespace)
	return &namespace, err
}

// as makes a request with a caller's token, and as somebody else.
func as(request *rest.Request, token string, other user.Info) *rest.Request {
	h := http.Header{}
	if token != "" {
		h.Set(authorization, "Bearer "+token)
	}
	if other != nil {
		impersonate(h, other)
	}
	for name, values := range h {
		request.SetHeader(name, values...)
	}
	return request
}

func userOf(info authenticationv1.UserInfo) user.Info {
	extra := make(map[string][]string, len(info.Extra))
	for key, values := range info.Extra {
		extra[key] = values
	}
	return &user.DefaultInfo{Name: info.Username, UID: info.UID, Groups: info.Groups, Extra: extra}
}

// refusal keeps the cluster's 401 and 403, and makes a 503 of all other errors.
func refusal(what string, err error) error {
	switch {
	case apierrors.IsUnauthorized(err):
		return unauthorized("the cluster refuses the credentials: " + message(err))
	case apierrors.IsForbidden(err):
		return forbidden("the cluster refuses a %s: %s", what, message(err))
	}
	return aggregator.Unavailable("the cluster can't be asked who you are (%s): %v", what, err)
}

func message(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return err.Error()
}

// reviewSpec is the access review for attributes. Selectors are omitted: without them the
// question covers more, never less.
func reviewSpec(a authorizer.Attributes) authorizationv1.SelfSubjectAccessReviewSpec {
	if !a.IsResourceRequest() {
		return authorizationv1.SelfSubjectAccessReviewSpec{
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: a.GetPath(), Verb: a.GetVerb()},
		}
	}
	return authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: a.GetNamespace(), Verb: a.GetVerb(), Group: a.GetAPIGroup(), Version: a.GetAPIVersion(),
		Resource: a.GetResource(), Subresource: a.GetSubresource(), Name: a.GetName(),
	}}
}
