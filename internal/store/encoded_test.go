// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// encodedList keeps what a store gives it.
type encodedList struct {
	metav1.TypeMeta
	metav1.ListMeta

	first [][]byte
	rest  iter.Seq2[[][]byte, error]
}

func (l *encodedList) DeepCopyObject() runtime.Object { panic("nobody copies it") }

func (l *encodedList) SetItems(first [][]byte, rest iter.Seq2[[][]byte, error]) {
	l.first, l.rest = first, rest
}

// read returns how many objects the list has, and the error that ended it.
func (l *encodedList) read(t *testing.T, between func()) (int, error) {
	t.Helper()
	n := len(l.first)
	if l.rest == nil {
		return n, nil
	}
	for page, err := range l.rest {
		if err != nil {
			return n, err
		}
		for _, item := range page {
			if !strings.HasSuffix(string(item), "}") || !strings.Contains(string(item), `"resourceVersion":"`) {
				t.Fatalf("an object is %s", item)
			}
		}
		n += len(page)
		between()
	}
	return n, nil
}

// TestEncodedListReadsOn: a list without a limit reads page by page, at its revision, again when it is asked again.
func TestEncodedListReadsOn(t *testing.T) {
	t.Parallel()
	const n = 700
	r := newReports(t)
	for i := range n {
		r.create(t, fmt.Sprintf("report-%03d", i))
	}
	list := &encodedList{}
	all := storage.ListOptions{Recursive: true, Predicate: everything}
	testkit.NoError(t, r.GetList(t.Context(), "/wgpolicyk8s.io/policyreports", all, list))
	if len(list.first) >= n || list.Continue != "" {
		t.Fatalf("%d of %d reports were read at once, the token is %q", len(list.first), n, list.Continue)
	}
	gone := 0
	remove := func() {
		gone++
		testkit.NoError(t, r.Delete(t.Context(), key(fmt.Sprintf("report-%03d", n-gone)), emptyReport(), nil, storage.ValidateAllObjectFunc, nil,
			storage.DeleteOptions{}))
	}
	for range 2 {
		if got, err := list.read(t, remove); got != n || err != nil {
			t.Errorf("got %d reports, %v; want the %d of the first page's revision", got, err, n)
		}
	}
	if gone < 4 {
		t.Errorf("%d pages were read, want 2 each time", gone)
	}
	if got, err := list.read(t, func() { r.engine.set(func(string) error { return engine.ErrUnavailable }, 0) }); err == nil || got == n {
		t.Errorf("without a database there are %d reports, %v", got, err)
	}
	r.engine.set(nil, 0)
	for page, err := range list.rest {
		if err != nil || len(page) == 0 {
			t.Fatal(page, err)
		}
		break // Who stops reading leaves nothing behind.
	}
}

// TestEncodedErrors: what Get and GetList say with JSON in place of an object is what they say without.
func TestEncodedErrors(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	r.create(t, "there")
	failure := fmt.Errorf("the list: %w", engine.ErrUnavailable)
	r.engine.set(func(string) error { return failure }, 0)
	all := storage.ListOptions{Recursive: true, Predicate: everything}
	want := r.GetList(t.Context(), "/wgpolicyk8s.io/policyreports", all, emptyList())
	got := r.GetList(t.Context(), "/wgpolicyk8s.io/policyreports", all, &encodedList{})
	if want == nil || got == nil || want.Error() != got.Error() {
		t.Errorf("got %v, want %v", got, want)
	}
	r.engine.set(nil, 0)
	out := &encoded{}
	if err := r.Get(t.Context(), key("missing"), storage.GetOptions{}, out); !storage.IsNotFound(err) {
		t.Errorf("got %v, want that nothing was found", err)
	}
	if err := r.Get(t.Context(), key("there"), storage.GetOptions{ResourceVersion: "1000"}, out); !storage.IsTooLargeResourceVersion(err) {
		t.Errorf("got %v, want that the version is too large", err)
	}
	if err := r.Get(t.Context(), key("there"), storage.GetOptions{}, out); err != nil || !strings.HasPrefix(out.data, `{"apiVersion"`) {
		t.Error(out.data, err)
	}
	if errors.Is(want, failure) {
		t.Error("clients see the database's words")
	}
}

type encoded struct {
	metav1.TypeMeta

	data string
}

func (e *encoded) DeepCopyObject() runtime.Object { panic("nobody copies it") }

func (e *encoded) SetJSON(data []byte) { e.data = string(data) }
