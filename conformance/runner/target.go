// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/object"
)

// schemaPatience is how long the schema of a kind may be missing that the server already has.
const schemaPatience = 5 * time.Second

const onlyNamed = "objects without a namespace are made only of resources that --resource names"

// findResources asks the server for the resources of the group version.
func (r *run) findResources(ctx context.Context) error {
	gv := r.options.GroupVersion
	response, err := r.client.do(ctx, Get(GroupVersionPath(gv)))
	if err != nil {
		return fmt.Errorf("ask for the resources of %s: %w", gv, err)
	}
	if response.Code == http.StatusNotFound {
		return fmt.Errorf("the server does not have the group version %s%s", gv, r.available(ctx))
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(response.Body, &list); err != nil || !response.OK() {
		return fmt.Errorf("ask for the resources of %s: %s", gv, response.Exchange)
	}
	found := map[string]*Resource{}
	var names []string
	for _, one := range list.APIResources {
		if !strings.Contains(one.Name, "/") && found[one.Name] == nil {
			found[one.Name] = &Resource{APIResource: one, GroupVersion: gv, Subresources: map[string]metav1.APIResource{}}
			names = append(names, one.Name)
		}
	}
	for _, one := range list.APIResources {
		parent, sub, isSub := strings.Cut(one.Name, "/")
		if isSub && found[parent] != nil {
			found[parent].Subresources[sub] = one
		}
	}
	return r.choose(found, names)
}

// available lists what could have been meant.
func (r *run) available(ctx context.Context) string {
	response, err := r.client.do(ctx, Get("/apis"))
	var list metav1.APIGroupList
	if err != nil || json.Unmarshal(response.Body, &list) != nil {
		return ""
	}
	var versions []string
	for _, group := range list.Groups {
		for _, version := range group.Versions {
			versions = append(versions, version.GroupVersion)
		}
	}
	if len(versions) == 0 {
		return ""
	}
	slices.Sort(versions)
	return "; it has " + strings.Join(versions, ", ")
}

// choose keeps the resources that are wanted.
func (r *run) choose(found map[string]*Resource, names []string) error {
	wanted := r.options.Resources
	for _, name := range wanted {
		if found[name] == nil {
			return fmt.Errorf("%s has no resource %q; it has %s", r.options.GroupVersion, name, strings.Join(names, ", "))
		}
	}
	for _, name := range names {
		if len(wanted) > 0 && !slices.Contains(wanted, name) {
			continue
		}
		resource := found[name]
		if !resource.Namespaced && len(wanted) == 0 {
			resource.readOnly = onlyNamed
		}
		r.resources = append(r.resources, resource)
	}
	if len(r.resources) == 0 {
		return fmt.Errorf("%s has no resources", r.options.GroupVersion)
	}
	return nil
}

// makeMakers gives each resource its maker. Without a schema, objects come from samples only.
func (r *run) makeMakers(ctx context.Context) error {
	schemas, err := r.readSchemas(ctx)
	if err != nil {
		return err
	}
	used := map[*unstructured.Unstructured]bool{}
	for _, resource := range r.resources {
		var sample *unstructured.Unstructured
		for _, one := range r.options.Samples {
			if kind := one.GroupVersionKind(); kind == resource.GVK() && sample == nil {
				sample = one
			}
		}
		used[sample] = true
		resource.Maker = object.NewMaker(resource.GVK(), schemas, sample)
	}
	for _, one := range r.options.Samples {
		if !used[one] {
			return fmt.Errorf("the sample of the kind %s (%s) is of none of the resources that are checked, or not the first of its kind", one.GetKind(), one.GetAPIVersion())
		}
	}
	return nil
}

// readSchemas returns nil if the server has no schema that can be read: a check says so. The schemas
// of kinds that are new to a server come a little later than the kinds.
func (r *run) readSchemas(ctx context.Context) (*object.Schemas, error) {
	for begin := time.Now(); ; {
		response, err := r.client.do(ctx, Get("/openapi/v3"+GroupVersionPath(r.options.GroupVersion)))
		if _, left := errors.AsType[*LeftOut](err); left {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if response.OK() && r.mentionsKinds(response.Body) || time.Since(begin) > schemaPatience {
			schemas, err := object.ReadSchemas(response.Body)
			if err != nil || !response.OK() {
				return nil, nil //nolint:nilerr // None; a check says why.
			}
			return schemas, nil
		}
		if err := pause(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// mentionsKinds reports whether a document is about all kinds that are checked, as far as can be seen
// without reading it.
func (r *run) mentionsKinds(document []byte) bool {
	return !slices.ContainsFunc(r.resources, func(resource *Resource) bool {
		return !bytes.Contains(document, []byte(`"`+resource.Kind+`"`))
	})
}

// findCore finds out whether the server has namespaces that can be read, or says that it has.
func (r *run) findCore(ctx context.Context) error {
	response, err := r.client.do(ctx, Get(namespacesPath, "limit", "1").MayBeRefused())
	if err != nil {
		return fmt.Errorf("ask for namespaces: %w", err)
	}
	r.hasCore = response.OK()
	if status, _ := response.Status(); status != nil && status.Reason == metav1.StatusReasonForbidden {
		// Servers without namespaces may refuse, too, before they look.
		core, err := r.client.do(ctx, Get(GroupVersionPath(schema.GroupVersion{Version: "v1"})).MayBeRefused())
		if err != nil {
			return fmt.Errorf("ask for the core API: %w", err)
		}
		r.hasCore = core.OK()
	}
	return nil
}

// versionPattern is what Kubernetes' own versions look like. Others are possible where there is a group.
var versionPattern = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// ParseGroupVersion reads a group version that people write.
func ParseGroupVersion(text string) (schema.GroupVersion, error) {
	const remedy = "give GROUP/VERSION, such as apps/v1, or v1 for the core group"
	if text == "" {
		return schema.GroupVersion{}, errors.New("is required; " + remedy)
	}
	version, err := schema.ParseGroupVersion(text)
	switch {
	case err != nil || version.Version == "" || strings.HasPrefix(text, "/"):
		return schema.GroupVersion{}, fmt.Errorf("%q is not a group version; %s", text, remedy)
	case version.Group == "" && !versionPattern.MatchString(version.Version):
		return schema.GroupVersion{}, fmt.Errorf("%q has no version; %s", text, remedy)
	}
	return version, nil
}
