// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store"
)

const mappingsKey = "/docket.dev/mappings/all"

// mappedRows has the results of objects made again whose mapping is another one than that by which they were made. One
// object in the database says, in annotations, by which mapping those of each resource were.
type mappedRows struct {
	mappings *mapping.Set
	// kinds are those that are served now.
	kinds     func() []registry.Kind
	reports   *store.Store
	stored    *store.Resource
	agreement *agreement
}

func newMappedRows(reports *store.Store, mappings *mapping.Set, kinds func() []registry.Kind, wishes *store.Resource) *mappedRows {
	return &mappedRows{
		mappings: mappings, kinds: kinds, reports: reports, stored: ownResource(reports, "mappings"), agreement: newAgreement(wishes, ofMappings),
	}
}

// run keeps in step with the mappings until ctx ends.
func (m *mappedRows) run(ctx context.Context) error {
	if m == nil {
		return nil
	}
	keepLooking(ctx, m.look, resultsOutdated, func(err error) {
		klog.ErrorS(err, "Results of objects that were stored before are not yet by the mappings of this server")
	})
	m.agreement.leave(ctx)
	return nil
}

// look has the rows made again that are by other mappings, once all replicas have the same.
func (m *mappedRows) look(ctx context.Context) error {
	wanted, err := m.wanted()
	if err != nil || len(wanted) == 0 {
		return err
	}
	if m.agreement != nil {
		if err := m.agreement.ask(ctx, sha256.Sum256(fmt.Append(nil, wanted)), time.Now()); err != nil {
			return err
		}
	}
	noted := &unstructured.Unstructured{}
	if err := m.stored.Get(ctx, mappingsKey, storage.GetOptions{IgnoreNotFound: true}, noted); err != nil {
		return err
	}
	made := map[string]string{}
	for resource, digest := range wanted {
		if noted.GetAnnotations()[resource] == digest {
			continue
		}
		if m.agreement != nil && !m.agreement.first {
			resultsOutdated.Set(1)
			return nil // Another replica does it.
		}
		if err := m.remake(ctx, schema.ParseGroupResource(resource)); err != nil {
			return errors.Join(fmt.Errorf("make the results of %s again: %w", resource, err), m.note(ctx, made))
		}
		made[resource] = digest
	}
	if err := m.note(ctx, made); err != nil {
		return err
	}
	resultsOutdated.Set(0)
	return nil
}

// wanted returns the digests of the mappings of served kinds, by resource; "" for a kind without one.
func (m *mappedRows) wanted() (map[string]string, error) {
	digests := map[string]string{}
	for _, kind := range m.kinds() {
		if kind.Report() {
			continue
		}
		digest, err := m.mappings.Digest(kind.GroupVersionKind.GroupKind())
		if err != nil {
			return nil, err
		}
		digests[kind.GroupVersionResource().GroupResource().String()] = digest
	}
	return digests, nil
}

func (m *mappedRows) remake(ctx context.Context, resource schema.GroupResource) error {
	count, err := m.reports.Count(ctx, resource)
	if err != nil || count == 0 {
		return err
	}
	resultsOutdated.Set(1)
	klog.InfoS("Making results again: the mapping is another one than that by which they were made", "resource", resource, "objects", count)
	if err := m.reports.RebuildResultsOf(ctx, resource); err != nil {
		return err
	}
	klog.InfoS("The results are by the mapping", "resource", resource)
	return nil
}

// note notes by which mappings results were made now.
func (m *mappedRows) note(ctx context.Context, made map[string]string) error {
	return updateNotes(ctx, m.stored, mappingsKey, func(notes map[string]string) map[string]string {
		if len(made) == 0 {
			return nil
		}
		all := map[string]string{}
		maps.Copy(all, notes)
		maps.Copy(all, made)
		return all
	})
}
