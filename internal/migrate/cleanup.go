// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/imports"
	"github.com/docket-project/docket/internal/registry"
)

// deleters is how many reports are deleted at once.
const deleters = 16

// DeleteFromCluster deletes the custom resources of a migration into Docket that is
// done, after it has verified once more.
func (m *Crds) DeleteFromCluster(ctx context.Context) error {
	state, _, err := loadState(ctx, m.kube, m.options.Namespace, m.retry)
	if err != nil {
		return err
	}
	m.state = state
	if !state.allDone() || state.direction() != ToDocket {
		return errors.New("there is no migration into Docket that is done: reports are deleted from the cluster only after one")
	}
	found, err := m.find(ctx)
	if err != nil {
		return err
	}
	for _, group := range m.options.Groups {
		serving, err := m.services.of(ctx, group)
		if err != nil {
			return err
		}
		if !serving.extension || !state.group(group).Done {
			return fmt.Errorf("%s is not served by Docket, or its migration is not done: its reports in the cluster are the only ones", group)
		}
	}
	kinds := all(found)
	if err := m.addVersions(ctx, kinds); err != nil {
		return err
	}
	if err := m.verify(ctx, found); err != nil {
		return err
	}
	before, known := m.etcdBytes(ctx)
	stopBar, err := m.bar(ctx, m.inCluster, kinds, "delete")
	if err != nil {
		return err
	}
	deleted := 0
	for _, kind := range kinds {
		n, err := m.deleteKind(ctx, kind)
		deleted += n
		if err != nil {
			stopBar()
			return describe(kind, err)
		}
	}
	stopBar()
	m.out.say("Deleted %d reports from the cluster.", deleted)
	if known {
		m.out.say("The file of etcd has %s. The space is free for other objects at its next compaction (5 minutes), and on disk after `etcdctl defrag`.", before)
	}
	return m.removeVersions(ctx, kinds)
}

// deleteKind deletes the custom resources of a kind that still are what was verified.
func (m *Crds) deleteKind(ctx context.Context, kind registry.Kind) (int, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deleters)
	n := 0
	for e, err := range m.inCluster.list(ctx, kind, false, nil) {
		if err != nil {
			return n, errors.Join(err, group.Wait())
		}
		n++
		group.Go(func() error {
			m.tally.one(imports.Deleted)
			return m.deleteOne(ctx, kind, e)
		})
	}
	return n, group.Wait()
}

// deleteOne deletes a custom resource. Nobody sees to its finalizers any more: whoever
// put them there sees to those of the report in Docket.
func (m *Crds) deleteOne(ctx context.Context, kind registry.Kind, e *entry) error {
	return m.retry.do(ctx, "delete "+kind.Resource, func() error {
		path := m.inCluster.path(kind, e.namespace, e.name)
		uid := types.UID(e.uid)
		var err error
		if e.finalizers {
			err = m.raw.Patch(types.MergePatchType).AbsPath(path).
				Body([]byte(`{"metadata":{"uid":"` + e.uid + `","finalizers":null}}`)).Do(ctx).Error()
		}
		if err == nil {
			err = m.raw.Delete().AbsPath(path).Body(&metav1.DeleteOptions{
				TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
				Preconditions: &metav1.Preconditions{UID: &uid},
			}).Do(ctx).Error()
		}
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	})
}

// etcdBytes returns what the API server says about the size of its storage.
func (m *Crds) etcdBytes(ctx context.Context) (string, bool) {
	data, err := m.raw.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return "", false // Not everybody may read metrics, and nothing depends on it.
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	const longest = 1 << 20
	lines.Buffer(nil, longest)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "apiserver_storage_size_bytes{") {
			continue
		}
		_, value, _ := strings.Cut(lines.Text(), "} ")
		if size, err := strconv.ParseFloat(value, 64); err == nil {
			const mebibyte = 1 << 20
			return fmt.Sprintf("%.1f MiB", size/mebibyte), true
		}
	}
	return "", false
}

// Abort ends a migration: Docket serves all requests again, the version for the
// migration goes from the CRDs, and its state is forgotten. Reports stay where they
// are, on both sides.
func (m *Crds) Abort(ctx context.Context) error {
	state, _, err := loadState(ctx, m.kube, m.options.Namespace, m.retry)
	if err != nil {
		return err
	}
	m.state = state
	if state.allDone() && state.direction() == ToDocket {
		return errors.New("the migration is done; --to-cluster brings the reports back")
	}
	for _, group := range m.options.Groups {
		serving, err := m.services.of(ctx, group)
		if err != nil {
			return err
		}
		if g := state.group(group); serving.extension && g.Held && !g.Released {
			return fmt.Errorf("%s is switched to Docket, which does not have all of its reports yet: finish the migration, "+
				"or give the group back to the cluster first by deleting APIService %s", group, apiServiceName(group))
		}
		kinds, err := m.withCRD(ctx, group)
		if err != nil {
			return err
		}
		if !serving.extension || state.direction() == ToCluster {
			if err := m.setServed(ctx, kinds, !serving.extension); err != nil {
				return err
			}
		}
		if err := m.removeVersions(ctx, kinds); err != nil {
			return err
		}
		if _, err := m.hold(ctx, imports.NoHold, group); err != nil {
			return err
		}
	}
	if err := state.remove(ctx); err != nil {
		return err
	}
	m.out.say("The migration is ended. Reports stay where they are.")
	return nil
}
