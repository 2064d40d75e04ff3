// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kube-openapi/pkg/handler3"
)

const (
	openAPIPath = "/openapi/v3"
	// documentsGrace is how long the endpoint may take to read the OpenAPI of a new server before it is announced
	// without. A kube-apiserver retries after a minute what failed once.
	documentsGrace = 10 * time.Second
)

// documented returns the group versions of which the server has OpenAPI: all of them if it does not say.
func (a *asker) documented(ctx context.Context, versions []schema.GroupVersion) []schema.GroupVersion {
	code, body, err := a.get(ctx, a.best(), openAPIPath)
	switch {
	case err != nil || code == http.StatusUnauthorized || code == http.StatusForbidden:
		return versions
	case code != http.StatusOK:
		return nil // No server has to have it.
	}
	missing, err := undocumented(body, versions)
	if err != nil {
		return nil // The endpoint will not understand it, either.
	}
	return slices.DeleteFunc(slices.Clone(versions), func(v schema.GroupVersion) bool { return slices.Contains(missing, v) })
}

// undocumented returns the group versions that an index of OpenAPI documents does not have: all of them if it is none.
func undocumented(index []byte, versions []schema.GroupVersion) ([]schema.GroupVersion, error) {
	var listed handler3.OpenAPIV3Discovery
	if err := json.Unmarshal(index, &listed); err != nil {
		return versions, fmt.Errorf("%s is not an index of documents: %w", openAPIPath, err)
	}
	return slices.DeleteFunc(slices.Clone(versions), func(v schema.GroupVersion) bool {
		_, has := listed.Paths["apis/"+v.String()]
		return has
	}), nil
}

// waitDocumented returns when the endpoint has the OpenAPI of the group versions. It reads documents after it has
// found a server available, and until then `kubectl explain` says that there are no such resources. Everything else
// works without: documents that are late, or that somebody may not read, are only noted.
func (r *registration) waitDocumented(ctx context.Context, versions []schema.GroupVersion) error {
	limited, cancel := context.WithTimeout(ctx, documentsGrace)
	defer cancel()
	missing := versions
	var last error
	err := wait.PollUntilContextCancel(limited, askInterval, true, func(ctx context.Context) (bool, error) {
		var index []byte
		if index, last = r.endpoint.core.Discovery().RESTClient().Get().AbsPath(openAPIPath).DoRaw(ctx); last == nil {
			missing, last = undocumented(index, missing)
		}
		return len(missing) == 0 || apierrors.IsNotFound(last) || apierrors.IsForbidden(last), nil
	})
	switch {
	case ctx.Err() != nil:
		return err
	case len(missing) == 0:
		return nil
	case last == nil:
		last = fmt.Errorf("not read within %v", documentsGrace)
	}
	names := make([]string, len(missing))
	for i, version := range missing {
		names[i] = version.String()
	}
	_, err = fmt.Fprintf(r.notes, "docket run: the endpoint has no OpenAPI of %s, without which `kubectl explain` does not know them: %v\n", strings.Join(names, ", "), last)
	return err
}
