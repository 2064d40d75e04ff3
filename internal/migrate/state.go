// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/internal/server/imports"
)

// ConfigMapName is the name of the ConfigMap that keeps the state of a migration.
const ConfigMapName = "docket-migration"

const stateKey = "state.json"

// Direction of a migration.
type Direction string

// The directions.
const (
	ToDocket  Direction = "to-docket"
	ToCluster Direction = "to-cluster"
)

// stateData is what survives kill -9. Each fact is saved before the next step relies on
// it.
type stateData struct {
	Direction Direction `json:"direction"`
	// Groups that are being migrated, and how far each of them is.
	Groups map[string]phase `json:"groups"`
	// Checkpoints are the revisions of the source up to which objects were imported,
	// by resource.
	Checkpoints map[string]string `json:"checkpoints"`
	// Process identifies the process that owns it.
	Process string `json:"process"`
}

// phase of the migration of a group. Groups only go forward; they may pass over phases.
type phase string

const (
	begun phase = "begun"
	// held: the server holds requests for the group.
	held phase = "held"
	// released: everything that the source had at the switch was imported, and clients
	// write to the destination.
	released phase = "released"
	// done: nothing more can come from the source.
	done phase = "done"
)

// reached reports whether a group is in a phase or a later one.
func (p phase) reached(other phase) bool {
	phases := []phase{begun, held, released, done}
	return slices.Index(phases, p) >= slices.Index(phases, other)
}

// State of a migration, kept in a ConfigMap. Safe for concurrent use.
type State struct {
	client    kubernetes.Interface
	namespace string
	retry     *retrier

	mu   sync.Mutex
	data stateData
	// dirty reports whether data was changed since it was saved.
	dirty bool

	// saving is held while the ConfigMap is written.
	saving sync.Mutex
	stored *corev1.ConfigMap
}

// errOther says that another process has taken over.
var errOther = errors.New("another `docket migrate` is running for this cluster; stop one of them")

// newState returns a state without progress.
func newState() *State {
	return &State{data: stateData{Groups: map[string]phase{}, Checkpoints: map[string]string{}}}
}

// loadState reads the state; found is false if there is none.
func loadState(ctx context.Context, client kubernetes.Interface, namespace string, retry *retrier) (s *State, found bool, err error) {
	s = newState()
	s.client, s.namespace, s.retry = client, namespace, retry
	err = retry.do(ctx, "read the state", func() (err error) {
		s.stored, err = client.CoreV1().ConfigMaps(namespace).Get(ctx, ConfigMapName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			s.stored = nil
			return nil
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read ConfigMap %s/%s: %w", namespace, ConfigMapName, explain(err, "the cluster"))
	}
	if found = s.stored != nil; found {
		if err := json.Unmarshal([]byte(s.stored.Data[stateKey]), &s.data); err != nil {
			return nil, false, fmt.Errorf("ConfigMap %s/%s is not valid; --abort removes it: %w", namespace, ConfigMapName, err)
		}
	}
	return s, found, nil
}

// begin makes this process the owner of the migration.
func (s *State) begin(ctx context.Context, direction Direction, groups []string) error {
	s.mu.Lock()
	s.data.Direction, s.data.Process = direction, string(uuid.NewUUID())
	s.mu.Unlock()
	return s.advance(ctx, begun, groups...)
}

// restart forgets a finished migration, so that one in the other direction can begin.
func (s *State) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data.Groups, s.data.Checkpoints, s.dirty = map[string]phase{}, map[string]string{}, true
}

func (s *State) direction() Direction {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.Direction
}

func (s *State) groups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.data.Groups))
}

// group returns the phase of a group; empty if it has none.
func (s *State) group(name string) phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.Groups[name]
}

// allDone reports whether there is a migration and all of its groups are done.
func (s *State) allDone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, group := range s.data.Groups {
		if group != done {
			return false
		}
	}
	return len(s.data.Groups) > 0
}

// advance takes groups to a phase, unless they have reached it, and returns when that is saved.
func (s *State) advance(ctx context.Context, to phase, groups ...string) error {
	s.mu.Lock()
	for _, group := range groups {
		if !s.data.Groups[group].reached(to) {
			s.data.Groups[group] = to
		}
	}
	s.dirty = true
	s.mu.Unlock()
	return s.save(ctx)
}

// checkpoint returns the resource version of the source up to which the objects of a kind
// were imported; empty before any was.
func (s *State) checkpoint(kind imports.Kind) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.Checkpoints[kind.GroupResource().String()]
}

// imported returns the checkpoint as a number; 0 before anything was imported.
func (s *State) imported(kind imports.Kind) uint64 {
	number, err := strconv.ParseUint(s.checkpoint(kind), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

func (s *State) setCheckpoint(kind imports.Kind, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := kind.GroupResource().String(); s.data.Checkpoints[name] != version {
		s.data.Checkpoints[name], s.dirty = version, true
	}
}

// save writes the state if it was changed.
func (s *State) save(ctx context.Context) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	data, err := json.Marshal(s.data)
	process, dirty := s.data.Process, s.dirty
	s.dirty = false
	s.mu.Unlock()
	if err != nil || !dirty {
		return err
	}
	err = s.retry.do(ctx, "save the state", func() error { return s.write(ctx, string(data), process) })
	if err != nil && !errors.Is(err, errOther) {
		return fmt.Errorf("save ConfigMap %s/%s: %w", s.namespace, ConfigMapName, explain(err, "the cluster"))
	}
	return err
}

// write makes one attempt. After a conflict it checks whether the change is its own, from
// an attempt whose response was lost.
func (s *State) write(ctx context.Context, data, process string) error {
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	if s.stored == nil {
		created, err := maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Namespace: s.namespace, Labels: map[string]string{"app.kubernetes.io/part-of": "docket"}},
			Data:       map[string]string{stateKey: data},
		}, metav1.CreateOptions{})
		if err == nil {
			s.stored = created
		}
		return err
	}
	desired := s.stored.DeepCopy()
	desired.Data = map[string]string{stateKey: data}
	updated, err := maps.Update(ctx, desired, metav1.UpdateOptions{})
	if err == nil {
		s.stored = updated
		return nil
	}
	if !apierrors.IsConflict(err) {
		return err
	}
	now, err := maps.Get(ctx, ConfigMapName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var other stateData
	if err := json.Unmarshal([]byte(now.Data[stateKey]), &other); err != nil || other.Process != process {
		return errOther
	}
	s.stored = now
	return errAgain
}

// keepSaving saves the state every second until the context ends.
func (s *State) keepSaving(ctx context.Context) error {
	for {
		if err := s.retry.sleep(ctx, saveInterval); err != nil {
			return nil //nolint:nilerr // It was asked to end.
		}
		if err := s.save(ctx); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // It was asked to end.
			}
			return err
		}
	}
}

// remove deletes the state.
func (s *State) remove(ctx context.Context) error {
	return s.retry.do(ctx, "delete the state", func() error {
		err := s.client.CoreV1().ConfigMaps(s.namespace).Delete(ctx, ConfigMapName, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
