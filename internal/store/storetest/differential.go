// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/etcd3/testserver"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/utils/clock"
)

// Differential does the same random operations on this store and on the etcd3 store of k8s.io/apiserver with an
// embedded etcd, and compares every answer: objects, kinds of errors, list contents, continue tokens' effects and the
// events of watches from each revision.
func Differential(t *testing.T, open Open, seed uint64, steps int) {
	ours := newPods(t, open)
	theirs := newEtcd(t)
	d := &differ{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)),
		sides: [2]*side{{name: "docket", storage: ours}, {name: "etcd3", storage: theirs}},
	}
	for _, s := range d.sides {
		s.revisions = []uint64{s.current(t)}
	}
	for range steps {
		d.step()
		if t.Failed() {
			return
		}
	}
	d.compareWatches()
}

func newEtcd(t *testing.T) storage.Interface {
	client := testserver.RunEtcd(t, nil)
	compactor := etcd3.NewCompactor(client.Client, 0, clock.RealClock{}, nil)
	t.Cleanup(compactor.Stop)
	versioner := storage.APIObjectVersioner{}
	s, err := etcd3.New(client, compactor, podCodec,
		func() runtime.Object { return &example.Pod{} }, func() runtime.Object { return &example.PodList{} },
		"", podKeyRoot, schema.GroupResource{Resource: "pods"}, identity.NewEncryptCheckTransformer(),
		etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(podCodec, versioner), versioner)
	if err != nil {
		t.Fatalf("etcd3 store: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// side is one of the two stores.
type side struct {
	name    string
	storage storage.Interface
	// revisions after each write, by its number: what stands for a resource
	// version in comparisons, since the numbers themselves differ.
	revisions []uint64
	// token of the last page of a list.
	token string
}

func (s *side) current(t *testing.T) uint64 {
	t.Helper()
	revision, err := s.storage.GetCurrentResourceVersion(context.Background())
	if err != nil {
		t.Fatalf("%s: current resource version: %v", s.name, err)
	}
	return revision
}

// number returns which write a resource version belongs to: the first at or above it.
func (s *side) number(resourceVersion string) int {
	var revision uint64
	if _, err := fmt.Sscan(resourceVersion, &revision); err != nil {
		return -1
	}
	for i, r := range s.revisions {
		if revision <= r {
			return i
		}
	}
	return len(s.revisions)
}

// normal makes objects of the two sides comparable.
func (s *side) normal(object runtime.Object) runtime.Object {
	object = object.DeepCopyObject()
	switch o := object.(type) {
	case *example.Pod:
		o.ResourceVersion = fmt.Sprint("write ", s.number(o.ResourceVersion))
	case *example.PodList:
		o.ResourceVersion = fmt.Sprint("write ", s.number(o.ResourceVersion))
		// The token holds a revision; that it works is seen on the next page.
		if o.Continue != "" {
			o.Continue = "more"
		}
		for i := range o.Items {
			o.Items[i].ResourceVersion = fmt.Sprint("write ", s.number(o.Items[i].ResourceVersion))
		}
	}
	return object
}

type differ struct {
	t     *testing.T
	rand  *rand.Rand
	sides [2]*side
}

// both does the same on both sides and compares the answers.
func (d *differ) both(what string, do func(s *side) (runtime.Object, error)) {
	d.t.Helper()
	var got [2]runtime.Object
	var errs [2]string
	for i, s := range d.sides {
		object, err := do(s)
		errs[i] = class(err)
		if err == nil && object != nil {
			got[i] = object
		}
	}
	for i, s := range d.sides {
		if got[i] != nil {
			got[i] = s.normal(got[i])
		}
	}
	if errs[0] != errs[1] {
		d.t.Errorf("%s: error is %q here, %q with etcd3", what, errs[0], errs[1])
	}
	if diff := cmp.Diff(got[1], got[0]); diff != "" {
		d.t.Errorf("%s (-etcd3 +docket):\n%s", what, diff)
	}
}

// class of an error, as a client can see it.
func class(err error) string {
	var status apierrors.APIStatus
	var stored *storage.StorageError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &status):
		return string(status.Status().Reason)
	case errors.As(err, &stored):
		return fmt.Sprint("storage error ", stored.Code)
	}
	return err.Error()
}

var errRefused = errors.New("refused by the test")

// step does one random operation.
func (d *differ) step() {
	namespace, name := fmt.Sprint("ns", d.rand.IntN(3)), fmt.Sprint("pod", d.rand.IntN(6))
	if d.rand.IntN(4) == 0 {
		namespace += "-x"
	}
	key := podKeyRoot + namespace + "/" + name
	switch d.rand.IntN(10) {
	case 0, 1, 2:
		d.create(key, namespace, name)
	case 3, 4, 5:
		d.update(key, namespace, name)
	case 6:
		d.remove(key)
	case 7:
		d.get(key)
	default:
		d.list(namespace)
	}
	for _, s := range d.sides {
		s.revisions = append(s.revisions, s.current(d.t))
	}
}

func (d *differ) label() string { return fmt.Sprint("v", d.rand.IntN(3)) }

func (d *differ) create(key, namespace, name string) {
	pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(d.label()), Labels: map[string]string{"a": d.label()}}}
	d.both("create "+key, func(s *side) (runtime.Object, error) {
		out := &example.Pod{}
		return out, s.storage.Create(context.Background(), key, pod.DeepCopy(), out, 0)
	})
}

func (d *differ) update(key, namespace, name string) {
	label, ignore, refuse := d.label(), d.rand.IntN(2) == 0, d.rand.IntN(8) == 0
	preconditions := d.preconditions()
	suggest := d.rand.IntN(3) == 0
	d.both(fmt.Sprintf("update %s to %s, ignoreNotFound %t", key, label, ignore), func(s *side) (runtime.Object, error) {
		out := &example.Pod{}
		var suggestion runtime.Object
		if suggest {
			existing := &example.Pod{}
			if s.storage.Get(context.Background(), key, storage.GetOptions{}, existing) == nil {
				suggestion = existing
			}
		}
		return out, s.storage.GuaranteedUpdate(context.Background(), key, out, ignore, preconditions,
			storage.SimpleUpdate(func(input runtime.Object) (runtime.Object, error) {
				if refuse {
					return nil, errRefused
				}
				pod := input.(*example.Pod)
				pod.Namespace, pod.Name = namespace, name
				pod.Labels = map[string]string{"a": label}
				return pod, nil
			}), suggestion)
	})
}

func (d *differ) preconditions() *storage.Preconditions {
	if d.rand.IntN(3) > 0 {
		return nil
	}
	return storage.NewUIDPreconditions(d.label())
}

func (d *differ) remove(key string) {
	preconditions := d.preconditions()
	d.both("delete "+key, func(s *side) (runtime.Object, error) {
		out := &example.Pod{}
		return out, s.storage.Delete(context.Background(), key, out, preconditions, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	})
}

func (d *differ) get(key string) {
	ignore, write := d.rand.IntN(2) == 0, d.anyWrite()
	d.both("get "+key, func(s *side) (runtime.Object, error) {
		out := &example.Pod{}
		return out, s.storage.Get(context.Background(), key, storage.GetOptions{IgnoreNotFound: ignore, ResourceVersion: s.version(write)}, out)
	})
}

// anyWrite returns the number of a past write, or of one still to come.
func (d *differ) anyWrite() int { return d.rand.IntN(len(d.sides[0].revisions)+1) - d.rand.IntN(2) }

// version returns the resource version of a write; "" for a negative number.
func (s *side) version(write int) string {
	switch {
	case write < 0:
		return ""
	case write >= len(s.revisions):
		return fmt.Sprint(s.revisions[len(s.revisions)-1] + 1000)
	}
	return fmt.Sprint(s.revisions[write])
}

// list lists in pages, each compared.
func (d *differ) list(namespace string) {
	key := podKeyRoot
	if d.rand.IntN(2) == 0 {
		key += namespace
	}
	options := storage.ListOptions{Recursive: true, Predicate: d.predicate()}
	write := -1
	if d.rand.IntN(2) == 0 {
		write = d.anyWrite()
		options.ResourceVersionMatch = []metav1.ResourceVersionMatch{"", metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan}[d.rand.IntN(3)]
		if write < 0 {
			options.ResourceVersionMatch = ""
		}
	}
	what := fmt.Sprintf("list %s limit %d labels %s match %q", key, options.Predicate.Limit, options.Predicate.Label, options.ResourceVersionMatch)
	if !options.Predicate.Empty() {
		// etcd can't know whether more objects match, and may send a client for a
		// page that is empty; compare all pages together.
		d.both(what, func(s *side) (runtime.Object, error) { return s.listAll(key, options, write) })
		return
	}
	for page := 0; ; page++ {
		d.both(fmt.Sprint(what, " page ", page), func(s *side) (runtime.Object, error) {
			list := &example.PodList{}
			err := s.storage.GetList(context.Background(), key, s.page(options, write, page), list)
			s.token = list.Continue
			return list, err
		})
		if d.sides[0].token == "" || d.t.Failed() {
			return
		}
		if d.rand.IntN(2) == 0 {
			// Pages stay of one snapshot while objects change.
			d.update(podKeyRoot+namespace+"/pod0", namespace, "pod0")
			for _, s := range d.sides {
				s.revisions = append(s.revisions, s.current(d.t))
			}
		}
	}
}

// page returns the options of a page: the first one of a write's revision.
func (s *side) page(options storage.ListOptions, write, page int) storage.ListOptions {
	if page == 0 {
		options.ResourceVersion = s.version(write)
		return options
	}
	options.ResourceVersionMatch = ""
	options.Predicate.Continue = s.token
	return options
}

func (s *side) listAll(key string, options storage.ListOptions, write int) (runtime.Object, error) {
	all := &example.PodList{}
	for page := 0; ; page++ {
		list := &example.PodList{}
		if err := s.storage.GetList(context.Background(), key, s.page(options, write, page), list); err != nil {
			return nil, err
		}
		all.ResourceVersion = list.ResourceVersion
		all.Items = append(all.Items, list.Items...)
		s.token = list.Continue
		if s.token == "" {
			return all, nil
		}
	}
}

func (d *differ) predicate() storage.SelectionPredicate {
	p := storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), GetAttrs: podAttributes, Limit: int64(d.rand.IntN(5))}
	selectors := []string{"", "", "a=v0", "a in (v1,v2)", "a!=v0", "a", "!a", "a=v1,a!=v2", "b"}
	p.Label, _ = labels.Parse(selectors[d.rand.IntN(len(selectors))])
	if d.rand.IntN(5) == 0 {
		p.Field = fields.OneTermEqualSelector("metadata.name", "pod1")
	}
	return p
}

// compareWatches compares the events of watches from every write on.
func (d *differ) compareWatches() {
	for write := 0; write < len(d.sides[0].revisions); write += 1 + len(d.sides[0].revisions)/20 {
		predicate := d.predicate()
		predicate.Limit = 0
		var got [2][]watch.Event
		for i, s := range d.sides {
			got[i] = s.watch(d.t, write, predicate)
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			d.t.Errorf("watch from write %d with labels %s (-etcd3 +docket):\n%s", write, predicate.Label, cmp.Diff(got[1], got[0]))
			return
		}
	}
}

// watch returns the events after a write up to a pod made for the purpose.
func (s *side) watch(t *testing.T, write int, predicate storage.SelectionPredicate) []watch.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// Every selector of the test matches one of these, and all are ignored.
	for i, l := range []map[string]string{{"a": "v0"}, {"a": "v1"}, {"a": "v2"}, {}, {"b": "x"}} {
		pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("z-end-", i), Name: "pod1", Labels: l}}
		key := podKeyRoot + pod.Namespace + "/" + pod.Name
		out := &example.Pod{}
		if err := s.storage.Create(ctx, key, pod, out, 0); err != nil && !storage.IsExist(err) {
			t.Fatal(err)
		}
		if err := s.storage.Delete(ctx, key, out, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := s.storage.Watch(ctx, podKeyRoot, storage.ListOptions{Recursive: true, ResourceVersion: s.version(write), Predicate: predicate})
	if err != nil {
		t.Fatalf("%s: watch: %v", s.name, err)
	}
	defer w.Stop()
	var events []watch.Event
	for event := range w.ResultChan() {
		pod, ok := event.Object.(metav1.Object)
		if !ok {
			t.Fatalf("%s: watch from write %d: %v", s.name, write, event.Object)
		}
		if len(pod.GetNamespace()) > 5 && pod.GetNamespace()[:5] == "z-end" {
			return events
		}
		event.Object = s.normal(event.Object)
		events = append(events, event)
	}
	return events
}
