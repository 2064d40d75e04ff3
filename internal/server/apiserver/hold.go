// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/server/imports"
	"github.com/docket-project/docket/internal/store"
)

const (
	// holdPatience is how long a request waits for a hold to end: less than the
	// minute that clients and kube-apiserver give it.
	holdPatience = 20 * time.Second
	// holdWaiting bounds the requests that wait for holds: each takes a seat of priority and
	// fairness meanwhile, and the migration needs some, too.
	holdWaiting = 100
	// holdRetry is when to look again after the holds could not be read.
	holdRetry = time.Second
	// holdRetrySeconds is when a refused request is to come again.
	holdRetrySeconds = 1
	// holdsKey is the one object that holds are kept in.
	holdsKey = "/docket.dev/holds/all"
)

// holds are kept in the database, so that all replicas obey them, and so that a
// restart doesn't end them. A server that doesn't know them yet lets requests wait.
type holds struct {
	storage *store.Resource
	// groups returns the groups whose objects can be moved.
	groups func() []string
	// authorizer says who may import, and so pass a hold.
	authorizer authorizer.Authorizer
	// waiting counts the requests that wait.
	waiting atomic.Int64

	mu      sync.Mutex
	byGroup map[string]imports.Hold
	// version of the object that they were read from, 0 for none.
	version uint64
	known   bool
	// changed is closed with each change of the fields above.
	changed chan struct{}
}

func newHolds(reports *store.Store, who authorizer.Authorizer, groups func() []string) *holds {
	return &holds{
		storage:    ownResource(reports, "holds"),
		groups:     groups,
		authorizer: who,
		changed:    make(chan struct{}),
	}
}

// obeyHolds returns what makes the server obey the holds in the database; nil for a database that has none.
func (c CompletedConfig) obeyHolds(reports *store.Store, groups func() []string) *holds {
	if reports == nil {
		return nil
	}
	return newHolds(reports, c.Generic.Authorization.Authorizer, groups)
}

// run follows the holds until ctx ends. The nil holds have nothing to follow.
func (h *holds) run(ctx context.Context) error {
	if h == nil {
		return nil
	}
	failing := false
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := h.follow(ctx)
		if ctx.Err() != nil || (err != nil) == failing {
			return
		}
		// The first failure only: readiness shows the rest.
		if failing = err != nil; failing {
			klog.ErrorS(err, "Can't read which groups are being migrated; trying again every second")
		}
	}, holdRetry)
	return nil
}

// follow reads the holds and then again whenever they change, until the watch ends.
func (h *holds) follow(ctx context.Context) error {
	version, err := h.load(ctx)
	if err != nil {
		return err
	}
	events, err := h.storage.Watch(ctx, holdsKey, storage.ListOptions{
		ResourceVersion: version, Predicate: storage.Everything,
	})
	if err != nil {
		return err
	}
	defer events.Stop()
	for range events.ResultChan() {
		if _, err := h.load(ctx); err != nil {
			return err
		}
	}
	return nil
}

// load reads the holds as they are now, and returns the resource version from which
// to watch them.
func (h *holds) load(ctx context.Context) (string, error) {
	now, err := h.storage.GetCurrentResourceVersion(ctx)
	if err != nil {
		return "", err
	}
	var object unstructured.Unstructured
	if err := h.storage.Get(ctx, holdsKey, storage.GetOptions{IgnoreNotFound: true}, &object); err != nil {
		return "", err
	}
	version, err := storage.APIObjectVersioner{}.ObjectResourceVersion(&object)
	if err != nil {
		return "", err
	}
	byGroup := map[string]imports.Hold{}
	for group, hold := range object.GetAnnotations() {
		byGroup[group] = imports.Hold(hold)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known || version != h.version {
		h.known, h.byGroup, h.version = true, byGroup, version
		close(h.changed)
		h.changed = make(chan struct{})
	}
	return fmt.Sprint(now), nil
}

// set changes the hold of groups and returns when this process obeys it.
func (h *holds) set(ctx context.Context, wanted imports.HoldRequest) error {
	err := h.storage.GuaranteedUpdate(ctx, holdsKey, &unstructured.Unstructured{}, true, nil,
		func(stored runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			object, ok := stored.(*unstructured.Unstructured)
			if !ok {
				return nil, nil, fmt.Errorf("holds are a %T", stored)
			}
			if object.Object == nil {
				object.Object = map[string]any{}
			}
			object.SetAPIVersion("docket.dev/v1")
			object.SetKind("Holds")
			object.SetName("all")
			byGroup := object.GetAnnotations()
			if byGroup == nil {
				byGroup = map[string]string{}
			}
			for _, group := range wanted.Groups {
				if wanted.Hold == imports.NoHold {
					delete(byGroup, group)
				} else {
					byGroup[group] = string(wanted.Hold)
				}
			}
			object.SetAnnotations(byGroup)
			return object, nil, nil
		}, nil)
	if err != nil {
		return err
	}
	_, err = h.load(ctx)
	return err
}

// of returns the hold of a group, and what is closed when it may be another.
func (h *holds) of(group string) (imports.Hold, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		return imports.HoldWait, h.changed
	}
	return h.byGroup[group], h.changed
}

// guard makes the writes of a request for a group that nothing holds end when that changes, and says whether nothing
// does. This process may learn of a hold late; the database checks.
func (h *holds) guard(r *http.Request, group string) (*http.Request, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known || h.byGroup[group] != imports.NoHold {
		return r, false
	}
	if r.Method == http.MethodGet {
		return r, true
	}
	return r.WithContext(h.storage.WithGuard(r.Context(), holdsKey, h.version)), true
}

// wrap makes requests for objects obey the holds.
func (h *holds) wrap(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		group := groupOf(r.URL.Path)
		guarded, free := h.guard(r, group)
		switch {
		case group == "", free && guarded == r, !slices.Contains(h.groups(), group):
			inner.ServeHTTP(w, r)
			return
		case free:
			inner.ServeHTTP(w, guarded)
			return
		}
		if r.Header.Get(imports.HoldHeader) != "" {
			h.pass(inner, w, r)
			return
		}
		switch h.wait(r.Context(), group) {
		case imports.NoHold:
			h.serve(inner, w, r, group)
		case imports.HoldMoved:
			refuseMoved(w, r, group)
		case imports.HoldWait:
			writeError(w, unavailable("the objects of "+group+" are being migrated; if `docket migrate` was interrupted, start it again"))
		}
	})
}

// serve serves a request for which a hold has ended.
func (h *holds) serve(inner http.Handler, w http.ResponseWriter, r *http.Request, group string) {
	guarded, free := h.guard(r, group)
	if !free { // The next one has begun.
		writeError(w, unavailable("the objects of "+group+" are being migrated"))
		return
	}
	inner.ServeHTTP(w, guarded)
}

// pass serves a request that asks to be let through a hold, if it comes from somebody who
// may import.
func (h *holds) pass(inner http.Handler, w http.ResponseWriter, r *http.Request) {
	who, _ := request.UserFrom(r.Context())
	decision, reason, err := h.authorizer.Authorize(r.Context(), authorizer.AttributesRecord{
		User: who, Verb: "post", Path: imports.Path,
	})
	switch {
	case err != nil:
		writeError(w, unavailable("it can't be found out who may post to "+imports.Path+" now: "+err.Error()))
	case decision != authorizer.DecisionAllow:
		klog.V(4).InfoS("Refused a request that asked to pass a hold", "reason", reason)
		writeError(w, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: "the header " + imports.HoldHeader + " is for those who may post to " + imports.Path + "; leave it out, or get that right",
		}})
	default:
		inner.ServeHTTP(w, r)
	}
}

// wait returns when a hold ends, or after holdPatience with the hold in effect then. If too many
// requests wait already, it returns at once.
func (h *holds) wait(ctx context.Context, group string) imports.Hold {
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > holdWaiting {
		hold, _ := h.of(group)
		return hold
	}
	ctx, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	for {
		hold, changed := h.of(group)
		if hold != imports.HoldWait {
			return hold
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return hold
		}
	}
}

// groupOf returns the group whose objects a path is about; "" for discovery and for everything else.
func groupOf(path string) string {
	parts := strings.SplitN(strings.TrimPrefix(path, "/apis/"), "/", 3)
	if !strings.HasPrefix(path, "/apis/") || len(parts) < 3 || parts[2] == "" {
		return ""
	}
	return parts[0]
}

// refuseMoved sends a client elsewhere. A watch gets the error in its stream that its version is too
// old: clients then list again, and leave out the revision, which means something only
// here.
func refuseMoved(w http.ResponseWriter, r *http.Request, group string) {
	message := "the objects of " + group + " have been moved back into the cluster"
	if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		status := apierrors.NewResourceExpired(message).Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		writeJSON(w, http.StatusOK, map[string]any{"type": "ERROR", "object": status})
		return
	}
	writeError(w, apierrors.NewTooManyRequests(message, holdRetrySeconds))
}

// unavailable is the answer to a request that is to come again.
func unavailable(message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: message, Details: &metav1.StatusDetails{RetryAfterSeconds: holdRetrySeconds},
	}}
}
