// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/plane/aggregator"
	"github.com/docket-project/docket/internal/plane/statedir"
)

// documentsGrace is how long the aggregator may take to read the OpenAPI of a new server before the server is announced
// without.
const documentsGrace = 10 * time.Second

// waitAvailable returns when the endpoint's aggregator reaches the server of all group versions. Each change of what
// the aggregator reports is written to the notes.
func (r *registration) waitAvailable(ctx context.Context) error {
	for _, version := range r.versions {
		said := "the endpoint has not checked it yet"
		err := wait.PollUntilContextCancel(ctx, askInterval, true, func(ctx context.Context) (bool, error) {
			server, err := r.endpoint.server(ctx, version)
			now := server.Reason + ": " + server.Message
			switch {
			case err != nil:
				now = err.Error() // It may be back in a moment.
			case server.Available:
				return true, nil
			case server.Reason == aggregator.NotChecked:
				now = said
			}
			if now != said && ctx.Err() == nil {
				said = now
				fmt.Fprintf(r.notes, "docket run: waiting for %s: %s\n", version, said)
			}
			return false, nil
		})
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %s", version, said), err)
		}
	}
	return nil
}

// waitDocumented returns when the aggregator has read the OpenAPI of all group versions. What is still missing after
// grace is written to the notes: a server works without.
func (r *registration) waitDocumented(ctx context.Context, grace time.Duration) error {
	outcomes := map[schema.GroupVersion]string{} // As of the last answer.
	err := wait.PollUntilContextTimeout(ctx, askInterval, grace, true, func(ctx context.Context) (bool, error) {
		done := true
		for _, version := range r.versions {
			if server, err := r.endpoint.server(ctx, version); err == nil {
				outcomes[version] = server.OpenAPI
			}
			done = done && outcomes[version] == aggregator.OpenAPIRead
		}
		return done, nil
	})
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	var missing []string
	for _, version := range r.versions {
		if outcome := outcomes[version]; outcome != aggregator.OpenAPIRead {
			missing = append(missing, fmt.Sprintf("%s (%s)", version, cmp.Or(outcome, fmt.Sprintf("not read within %v", grace))))
		}
	}
	_, err = fmt.Fprintf(r.notes, "docket run: the endpoint has no OpenAPI of %s, without which `kubectl explain` does not know them\n", strings.Join(missing, ", "))
	return err
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
	fmt.Fprintf(&text, "\nThe server listens at https://%s. Stop it with Ctrl-C. In another terminal:\n\n  export KUBECONFIG=%s\n",
		r.workspace.address(), statedir.Quote(r.endpoint.kubeconfig))
	for _, group := range groups {
		fmt.Fprintf(&text, "  kubectl api-resources --api-group=%s\n", group)
	}
	_, err := fmt.Fprintln(r.notes, text.String())
	return err
}

// resources returns what a group version has once the discovery of the whole endpoint has it: kubectl keeps that for
// hours. Another replica than the one that reached the server may not have it yet.
func (r *registration) resources(ctx context.Context, version schema.GroupVersion) (*metav1.APIResourceList, error) {
	var list *metav1.APIResourceList
	var last error
	err := wait.PollUntilContextCancel(ctx, askInterval, true, func(context.Context) (bool, error) {
		var lists []*metav1.APIResourceList
		// An error may be about other servers.
		_, lists, last = r.endpoint.core.Discovery().ServerGroupsAndResources()
		at := slices.IndexFunc(lists, func(l *metav1.APIResourceList) bool {
			return l.GroupVersion == version.String() && len(l.APIResources) > 0
		})
		if at >= 0 {
			list = lists[at]
		}
		return at >= 0, nil
	})
	if err != nil {
		return nil, errors.Join(err, last)
	}
	return list, nil
}
