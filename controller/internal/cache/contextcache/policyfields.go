// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// fieldsInterval is how often the schema of ClusterPolicy is read; earlier if the API serves something else.
	fieldsInterval = 10 * time.Minute
	// fieldsRetry is the pause after a failure: a new definition is served a moment before its schema is published.
	fieldsRetry = 5 * time.Second
	// fieldsTimeout bounds reading it.
	fieldsTimeout = 30 * time.Second
)

// cacheFields are the fields of a context entry that read the context cache, in order. An API server drops fields
// that its schema does not have, unless the client asks for strict validation: a policy with cache: true would then
// call the API for each evaluation, and nobody would know.
var cacheFields = [][]string{{"apiCall", "cache"}, {"cachedContextEntry"}, {"resourceCache"}}

// openAPISchema is the part of a schema that matters here.
type openAPISchema struct {
	Properties map[string]*openAPISchema `json:"properties"`
	Items      *openAPISchema            `json:"items"`
	Preserve   bool                      `json:"x-kubernetes-preserve-unknown-fields"`
}

// keeps reports whether a field that a policy has is stored: where a schema has a field, that one's decides what is
// kept below it.
func (s *openAPISchema) keeps(path ...string) bool {
	for _, name := range path {
		if s.Items != nil {
			s = s.Items
		}
		next := s.Properties[name]
		if next == nil {
			return s.Preserve
		}
		s = next
	}
	return true
}

// droppedFields returns which of the fields of a context entry an API drops whose OpenAPI document of the
// policies' version this is.
func droppedFields(document []byte) (dropped []string, err error) {
	var openAPI struct {
		Components struct {
			Schemas map[string]*openAPISchema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &openAPI); err != nil {
		return nil, fmt.Errorf("its OpenAPI document can't be read: %w", err)
	}
	for name, found := range openAPI.Components.Schemas {
		if !strings.HasSuffix(name, "."+policy.ClusterPolicy) {
			continue
		}
		for _, field := range cacheFields {
			if !found.keeps(append([]string{"spec", "rules", "context"}, field...)...) {
				dropped = append(dropped, strings.Join(field, "."))
			}
		}
		return dropped, nil
	}
	return nil, fmt.Errorf("its OpenAPI document has no %s", policy.ClusterPolicy)
}

// watchFields warns, until ctx is done, while the API drops fields of policies that read the cache.
func (c *Cache) watchFields(ctx context.Context) {
	look := broadcast.NewTrigger()
	defer c.config.Served.Subscribe(look.Fire)()
	look.Fire()
	timer := c.config.Clock.NewTimer(fieldsInterval)
	defer timer.Stop()
	var last string
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C():
		case <-timer.C():
		}
		text, err := c.checkFields(ctx)
		pause := fieldsInterval
		if err != nil {
			text, pause = "can't tell whether the API keeps the fields of policies that read the context cache: "+err.Error(), fieldsRetry
		}
		if text != "" && text != last && ctx.Err() == nil {
			klog.FromContext(ctx).Info("Warning: " + text)
		}
		last = text
		timer.Reset(pause)
	}
}

// checkFields returns what to warn of, and counts it.
func (c *Cache) checkFields(ctx context.Context) (string, error) {
	catalog := c.config.Served.Current()
	if catalog == nil {
		return "", nil
	}
	resource, found := catalog.Lookup(schema.GroupResource{Group: policy.KyvernoGroup, Resource: "clusterpolicies"}, policy.ClusterPolicy)
	if !found {
		c.config.Metrics.dropped.Set(0)
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, fieldsTimeout)
	defer cancel()
	var dropped []string
	document, err := c.config.REST.Get().AbsPath("/openapi/v3/apis/" + resource.GroupVersion().String()).Do(ctx).Raw()
	if err == nil {
		dropped, err = droppedFields(document)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", resource.GVK(), err)
	}
	c.config.Metrics.dropped.Set(float64(len(dropped)))
	if len(dropped) == 0 {
		return "", nil
	}
	return fmt.Sprintf("the definition of %s has no rules[].context[].%s: the API server drops these fields where a client does not ask for strict validation, "+
		"and a policy with apiCall.cache then calls the API for each evaluation; refer to an entry by globalReference instead", resource.GVK(), strings.Join(dropped, ", ")), nil
}
