// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/docket-project/docket/internal/plane/statedir"
)

// waitAvailable returns when the endpoint reports all group versions as available and lists
// their resources. Each change of what it reports is written to the notes.
func (r *registration) waitAvailable(ctx context.Context) error {
	for _, version := range r.versions {
		said := "the endpoint has not checked it yet"
		err := wait.PollUntilContextCancel(ctx, askInterval, true, func(ctx context.Context) (bool, error) {
			now, err := r.availability(ctx, version)
			if err != nil && ctx.Err() == nil {
				now = err.Error() // It may be back in a moment.
			}
			if now != "" && now != said && ctx.Err() == nil {
				said = now
				fmt.Fprintf(r.notes, "docket run: waiting for %s: %s\n", version, said)
			}
			return now == "" && err == nil, nil
		})
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %s", version, said), err)
		}
	}
	return nil
}

// availability returns why a group version is not available, "" if it is.
func (r *registration) availability(ctx context.Context, version schema.GroupVersion) (string, error) {
	service, err := r.endpoint.services.ApiregistrationV1().APIServices().Get(ctx, nameOfAPIService(version), metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(service.Status.Conditions, func(c apiregistrationv1.APIServiceCondition) bool { return c.Type == apiregistrationv1.Available })
	if i < 0 {
		return "the endpoint has not checked it yet", nil
	}
	condition := service.Status.Conditions[i]
	if condition.Status != apiregistrationv1.ConditionTrue {
		return condition.Reason + ": " + condition.Message, nil
	}
	return "", nil
}

// announce says what is served and how to look at it.
func (r *registration) announce(ctx context.Context) error {
	var text strings.Builder
	var groups []string
	for _, version := range r.versions {
		list, err := r.resources(ctx, version)
		if err != nil {
			return fmt.Errorf("%s is available, but its resources can't be listed: %w", version, err)
		}
		var names []string
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				names = append(names, resource.Name)
			}
		}
		fmt.Fprintf(&text, "docket run: serving %s: %s\n", version, strings.Join(names, ", "))
		if !slices.Contains(groups, version.Group) {
			groups = append(groups, version.Group)
		}
	}
	if err := r.waitDiscovered(ctx); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nThe server listens at https://%s. Stop it with Ctrl-C. In another terminal:\n\n  export KUBECONFIG=%s\n",
		r.workspace.address(), statedir.Quote(r.endpoint.kubeconfig))
	for _, group := range groups {
		fmt.Fprintf(&text, "  kubectl api-resources --api-group=%s\n", group)
	}
	_, err := fmt.Fprintln(r.notes, text.String())
	return err
}

// resources asks the endpoint what a group version has. One that is available in its status is not yet
// known to the proxy, which follows APIServices by itself: the answer is 404 or 503 until it has caught up.
func (r *registration) resources(ctx context.Context, version schema.GroupVersion) (*metav1.APIResourceList, error) {
	var list *metav1.APIResourceList
	var last error
	err := wait.PollUntilContextCancel(ctx, askInterval, true, func(context.Context) (bool, error) {
		list, last = r.endpoint.core.Discovery().ServerResourcesForGroupVersion(version.String())
		if apierrors.IsNotFound(last) || apierrors.IsServiceUnavailable(last) {
			return false, nil
		}
		return true, last
	})
	if ctx.Err() != nil {
		return nil, errors.Join(err, last)
	}
	return list, err
}

// waitDiscovered returns when discovery of the whole endpoint has the resources of all group versions. It is put
// together from the answers of the servers now and then; kubectl keeps what it has read there for hours.
func (r *registration) waitDiscovered(ctx context.Context) error {
	var missing []string
	var last error
	err := wait.PollUntilContextCancel(ctx, askInterval, true, func(context.Context) (bool, error) {
		var lists []*metav1.APIResourceList
		_, lists, last = r.endpoint.core.Discovery().ServerGroupsAndResources()
		if last != nil && !discovery.IsGroupDiscoveryFailedError(last) { // Of which others' groups are no concern here.
			return false, last
		}
		missing = nil
		for _, version := range r.versions {
			if !slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool {
				return l.GroupVersion == version.String() && len(l.APIResources) > 0
			}) {
				missing = append(missing, version.String())
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("discovery of the endpoint does not list %s: %w", strings.Join(missing, ", "), errors.Join(err, last))
	}
	return nil
}
