// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/server/imports"
)

// deleters is the number of objects that are deleted at once.
const deleters = 16

// DeleteFromCluster deletes the custom resources of a finished migration into Docket, after
// verifying once more.
func (m *Crds) DeleteFromCluster(ctx context.Context) error {
	state, _, err := loadState(ctx, m.kube, m.options.Namespace, m.retry)
	if err != nil {
		return err
	}
	m.state = state
	if !state.allDone() || state.direction() != ToDocket {
		return errors.New("there is no finished migration into Docket: objects are deleted from the cluster only after one")
	}
	if err := m.find(ctx); err != nil {
		return err
	}
	for _, g := range m.groups {
		serving, err := m.services.of(ctx, g)
		if err != nil {
			return err
		}
		if !serving.extension || state.group(g.name) != done {
			return fmt.Errorf("%s is not served by Docket, or its migration is not done: its objects exist only in the cluster", g.name)
		}
	}
	kinds := m.kinds()
	if err := m.addVersions(ctx, kinds); err != nil {
		return err
	}
	if err := m.verify(ctx); err != nil {
		return err
	}
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
	m.out.say("Deleted %d objects from the cluster.", deleted)
	m.out.say("Their space in etcd is free for other objects after its next compaction (5 minutes), and on disk after `etcdctl defrag`.")
	return m.crds.restore(ctx, kinds)
}

// deleteKind deletes the custom resources of a kind.
func (m *Crds) deleteKind(ctx context.Context, kind imports.Kind) (int, error) {
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

// deleteOne deletes a custom resource despite its finalizers: the controllers that added them
// handle the object in Docket.
func (m *Crds) deleteOne(ctx context.Context, kind imports.Kind, e *entry) error {
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

// Abort ends a migration: Docket serves all requests again, and the version for the migration
// and its state are removed. Objects stay where they are, on both sides.
func (m *Crds) Abort(ctx context.Context) error {
	state, _, err := loadState(ctx, m.kube, m.options.Namespace, m.retry)
	if err != nil {
		return err
	}
	m.state = state
	if state.allDone() && state.direction() == ToDocket {
		return errors.New("the migration is done; --to-cluster moves the objects back")
	}
	for _, name := range m.options.Groups {
		if err := m.abort(ctx, name); err != nil {
			return err
		}
	}
	if err := state.remove(ctx); err != nil {
		return err
	}
	m.out.say("The migration was aborted. Reports stay where they are.")
	return nil
}

// abort undoes what a migration changed for a group.
func (m *Crds) abort(ctx context.Context, name string) error {
	g, err := m.look(ctx, name)
	if err != nil {
		return err
	}
	serving, err := m.services.of(ctx, g)
	if err != nil {
		return err
	}
	if serving.partly && m.state.group(name) == held {
		return fmt.Errorf("%s is served by Docket, which does not have all of its objects yet: finish the migration, "+
			"or give the group back to the cluster first by deleting APIService %s", name, strings.Join(g.services, ", "))
	}
	if err := m.crds.restore(ctx, g.kinds); err != nil {
		return err
	}
	_, err = m.hold(ctx, imports.NoHold, name)
	return err
}
