// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apitesting "k8s.io/apimachinery/pkg/api/apitesting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/codec"
	"github.com/docket-project/docket/internal/store/engine"
)

// Open opens an engine on an empty database that is removed when t ends.
type Open func(t testing.TB) engine.Engine

// transformerPrefix is what the upstream suite puts before each stored value.
const transformerPrefix = "test!"

var (
	scheme     = newScheme()
	codecs     = serializer.NewCodecFactory(scheme)
	podCodec   = apitesting.TestCodec(codecs, examplev1.SchemeGroupVersion)
	podKeyRoot = "/pods/"
)

// packer is how values are stored.
var packer = sync.OnceValue(func() *codec.Codec {
	c, err := codec.New()
	utilruntime.Must(err)
	return c
})

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(s))
	utilruntime.Must(examplev1.AddToScheme(s))
	return s
}

// pods is a store of example pods as the upstream suite wants it, with the hooks that it uses.
type pods struct {
	*store.Resource
	store       *store.Store
	engine      *countingEngine
	transformer *switchTransformer
}

// newPods starts a store on a new engine; both end with t.
func newPods(t testing.TB, open Open, change ...func(*store.Options)) *pods {
	t.Helper()
	counting := &countingEngine{Engine: open(t)}
	options := store.Options{Engine: counting, BookmarkInterval: time.Second}
	for _, c := range change {
		c(&options)
	}
	s := Start(t, options)
	transformer := &switchTransformer{}
	transformer.set(storagetesting.NewPrefixTransformer([]byte(transformerPrefix), false))
	return &pods{
		store: s, engine: counting, transformer: transformer,
		Resource: s.Resource(store.ResourceConfig{
			GroupResource: schema.GroupResource{Resource: "pods"},
			Prefix:        podKeyRoot, Codec: podCodec, Transformer: transformer,
			NewFunc:     func() runtime.Object { return &example.Pod{} },
			NewListFunc: func() runtime.Object { return &example.PodList{} },
			Attributes:  podAttributes,
		}),
	}
}

func podAttributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	pod := obj.(*example.Pod)
	return pod.Labels, fields.Set{"metadata.name": pod.Name, "spec.nodeName": pod.Spec.NodeName}, nil
}

// Start runs a store until t ends.
func Start(t testing.TB, options store.Options) *store.Store {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := store.New(ctx, options)
	if err != nil {
		cancel()
		t.Fatalf("new store: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("store: %v", err)
		}
	})
	return s
}

// increaseRV takes one revision without touching a pod.
func (p *pods) increaseRV(ctx context.Context, t *testing.T) int64 {
	t.Helper()
	return int64(takeRevision(ctx, t, p.engine))
}

func takeRevision(ctx context.Context, t testing.TB, e engine.Engine) engine.Revision {
	t.Helper()
	op := engine.Op{Kind: engine.Create, Resource: "/internal/", Key: fmt.Sprintf("tick-%d", time.Now().UnixNano())}
	batch, err := e.Commit(ctx, []engine.Op{op})
	if err != nil {
		t.Fatalf("take a revision: %v", err)
	}
	return batch.Outcomes[0].Revision
}

// compact drops history. etcd takes a revision to do so, which the suite counts on.
func (p *pods) compact(ctx context.Context, t *testing.T, resourceVersion string) {
	t.Helper()
	revision, err := p.Versioner().ParseResourceVersion(resourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.store.Compact(ctx, engine.Revision(revision)); err != nil {
		t.Fatalf("compact: %v", err)
	}
	p.increaseRV(ctx, t)
}

// checkStored checks what the database holds: no resource version in it.
func (p *pods) checkStored(ctx context.Context, t *testing.T, key string) {
	t.Helper()
	row, _, err := p.engine.Get(ctx, engine.Resource(podKeyRoot), strings.TrimPrefix(key, podKeyRoot))
	if err != nil || row == nil {
		t.Fatalf("row at %s: %v, %v", key, row, err)
	}
	data, err := packer().Unpack(row.Value)
	if err != nil {
		t.Fatal(err)
	}
	object, err := runtime.Decode(podCodec, data[len(transformerPrefix):])
	if err != nil {
		t.Fatalf("decode what is stored at %s: %v", key, err)
	}
	if pod := object.(*example.Pod); pod.ResourceVersion != "" {
		t.Errorf("stored object has resourceVersion %q, want none", pod.ResourceVersion)
	}
}

// prefixTransformer returns the transformer that the suite expects.
func (p *pods) prefixTransformer() *storagetesting.PrefixTransformer {
	return p.transformer.get().(*storagetesting.PrefixTransformer)
}

// UpdatePrefixTransformer implements storagetesting.InterfaceWithPrefixTransformer.
func (p *pods) UpdatePrefixTransformer(modify storagetesting.PrefixTransformerModifier) func() {
	original := p.prefixTransformer()
	changed := *original
	p.transformer.set(modify(&changed))
	return func() { p.transformer.set(original) }
}

// CorruptTransformer implements storagetesting.InterfaceWithCorruptTransformer.
func (p *pods) CorruptTransformer() func() {
	original := p.transformer.get()
	p.transformer.set(corruptTransformer{original})
	return func() { p.transformer.set(original) }
}

type corruptTransformer struct{ value.Transformer }

func (corruptTransformer) TransformFromStorage(context.Context, []byte, value.Context) ([]byte, bool, error) {
	return nil, true, fmt.Errorf("bits flipped")
}

// switchTransformer is a transformer that tests replace while watches use it.
type switchTransformer struct {
	current atomic.Pointer[value.Transformer]
}

func (s *switchTransformer) set(t value.Transformer) { s.current.Store(&t) }
func (s *switchTransformer) get() value.Transformer  { return *s.current.Load() }

func (s *switchTransformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, bool, error) {
	return s.get().TransformFromStorage(ctx, data, dataCtx)
}

func (s *switchTransformer) TransformToStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	return s.get().TransformToStorage(ctx, data, dataCtx)
}

// countingEngine counts the lists that it is asked for, and the rows that it returned.
type countingEngine struct {
	engine.Engine
	lists atomic.Uint64
	read  atomic.Uint64
}

func (c *countingEngine) List(ctx context.Context, q engine.Query) (engine.Page, error) {
	c.lists.Add(1)
	page, err := c.Engine.List(ctx, q)
	c.read.Add(uint64(len(page.Rows)))
	return page, err
}
