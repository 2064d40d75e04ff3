// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"testing"
)

func TestBytesCountWhatIsKept(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	objects := table.Bytes()
	for _, expression := range []string{"items[].metadata.name", "items[?spec.rules[?host=='h7']]", "items[].metadata.name | [@, @]", "items"} {
		before := table.Bytes()
		search(t, table, List, expression)
		if table.Bytes() <= before {
			t.Errorf("%s takes nothing", expression)
		}
	}
	for i := range 1000 {
		table.Put(mustPack(t, thing("s", fmt.Sprintf("n%04d", i), "another")))
		if i%100 == 0 {
			for _, expression := range []string{"items[].metadata.name", "items[?spec.rules[?host=='h7']]", "items"} {
				search(t, table, List, expression)
			}
		}
	}
	table.Trim()
	table.Trim()
	for i := range 1000 {
		table.Put(mustPack(t, thing("s", fmt.Sprintf("n%04d", i), fmt.Sprintf("h%d", i))))
	}
	if got := table.Bytes(); got != objects {
		t.Errorf("%d bytes, %d before all that", got, objects)
	}
	search(t, table, List, "items")
	table.Shrink()
	if got := table.Bytes(); got != objects {
		t.Errorf("%d bytes, %d before all that", got, objects)
	}
}

func TestIndexesForgetWhatHasGone(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	search(t, table, List, "items[?spec.rules[?host=='h7']]")
	var x *index
	table.indexes.all(func(i *index) { x = i })
	empty := newIndex(x.source).memory.Load()
	for i := range 1000 {
		if i%2 == 0 {
			table.Put(mustPack(t, thing("s", fmt.Sprintf("n%04d", i), "another")))
		} else {
			table.Delete("s", fmt.Sprintf("n%04d", i))
		}
	}
	search(t, table, List, "items[?spec.rules[?host=='h7']]")
	if content := x.content.Load(); content.count != 1 || len(content.of("another")) != 500 {
		t.Errorf("%d values, %d objects", content.count, len(content.of("another")))
	}
	table.Replace(nil, "")
	search(t, table, List, "items[?spec.rules[?host=='h7']]")
	if content := x.content.Load(); content.count != 0 || x.memory.Load() != empty {
		t.Errorf("%d values, %d bytes", content.count, x.memory.Load())
	}
}

func TestNoIndexOfWhatHasNoOrder(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	for _, expression := range []string{
		"items[?keys(metadata)[0]=='name']", "items[?values(metadata)[0]=='s']", "items[?metadata.*|[0]=='s']", "items[?contains(keys(spec), 'x')]",
	} {
		search(t, table, List, expression)
	}
	if table.indexes.order.Len() != 0 {
		t.Errorf("%d indexes", table.indexes.order.Len())
	}
}

func TestOwnNamesDoNotFillTheMemory(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	for i := range 20000 {
		search(t, table, List, fmt.Sprintf("items[?metadata.name=='n%05d'] | length(@)", i))
	}
	if cost := table.results.bytes(); cost > maxResultBytes || cost < maxResultBytes/2 {
		t.Errorf("results take %d bytes", cost)
	}
}

func TestNobodyCanAppendToAResult(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	for _, expression := range []string{"items", "items[].metadata.name"} {
		table.Put(mustPack(t, thing("s", "another", "h")))
		values, _ := search(t, table, List, expression).([]any)
		if cap(values) != len(values) {
			t.Errorf("%s: room for %d, length %d", expression, cap(values), len(values))
		}
	}
}
