// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"sort"
)

// chunkSize bounds what one change copies: a chunk, and a pointer for each chunk.
const chunkSize = 256

// snapshot is the content of a table at one version, in order. It never changes; the next one shares
// all chunks with it but those that have changed.
type snapshot struct {
	version uint64
	// resourceVersion belongs to the list.
	resourceVersion string
	// chunks are never empty.
	chunks []*chunk
	count  int
	// bytes is the size of the objects.
	bytes int64
	// failing is the number of objects that a filter can't decide on.
	failing int
}

type chunk struct{ objects []*Packed }

// find returns where an object is, or would be: a chunk, the position in it, and whether it is there.
func (s *snapshot) find(namespace, name string) (inChunks, inChunk int, found bool) {
	after := sort.Search(len(s.chunks), func(i int) bool {
		first := s.chunks[i].objects[0]
		return compare(first.namespace, first.name, namespace, name) > 0
	})
	inChunks = max(after-1, 0)
	if inChunks >= len(s.chunks) {
		return 0, 0, false
	}
	objects := s.chunks[inChunks].objects
	inChunk, found = sort.Find(len(objects), func(i int) int {
		return compare(namespace, name, objects[i].namespace, objects[i].name)
	})
	return inChunks, inChunk, found
}

// get returns nil if there is no such object.
func (s *snapshot) get(namespace, name string) *Packed {
	i, j, found := s.find(namespace, name)
	if !found {
		return nil
	}
	return s.chunks[i].objects[j]
}

// with returns the snapshot after one object is put.
func (s *snapshot) with(object *Packed) *snapshot {
	next := *s
	next.version++
	i, j, found := s.find(object.namespace, object.name)
	if len(s.chunks) == 0 {
		next.chunks = chunksOf([]*Packed{object})
		next.count, next.bytes, next.failing = 1, object.Size(), object.failing()
		return &next
	}
	before := s.chunks[i].objects
	next.bytes += object.Size()
	next.failing += object.failing()
	if found {
		next.bytes -= before[j].Size()
		next.failing -= before[j].failing()
		objects := slices.Clone(before)
		objects[j] = object
		next.chunks = slices.Clone(s.chunks)
		next.chunks[i] = &chunk{objects}
		return &next
	}
	next.count++
	objects := make([]*Packed, 0, len(before)+1)
	objects = append(append(append(objects, before[:j]...), object), before[j:]...)
	next.chunks = slices.Concat(s.chunks[:i], split(objects), s.chunks[i+1:])
	return &next
}

// without returns the snapshot after the deletion of an object that is there.
func (s *snapshot) without(namespace, name string) *snapshot {
	i, j, _ := s.find(namespace, name)
	before := s.chunks[i].objects
	next := *s
	next.version++
	next.count--
	next.bytes -= before[j].Size()
	next.failing -= before[j].failing()
	rest, following := slices.Concat(before[:j], before[j+1:]), s.chunks[i+1:]
	if len(following) > 0 && len(rest)+len(following[0].objects) <= chunkSize/2 {
		rest, following = slices.Concat(rest, following[0].objects), following[1:]
	}
	next.chunks = slices.Concat(s.chunks[:i], chunksOf(rest), following)
	return &next
}

// split makes two chunks of one that has grown too large.
func split(objects []*Packed) []*chunk {
	if len(objects) <= chunkSize {
		return []*chunk{{objects}}
	}
	half := len(objects) / 2
	return []*chunk{{slices.Clip(objects[:half])}, {slices.Clone(objects[half:])}}
}

// chunksOf makes chunks of objects in order, with room for more.
func chunksOf(objects []*Packed) []*chunk {
	var chunks []*chunk
	for part := range slices.Chunk(objects, chunkSize*3/4) {
		chunks = append(chunks, &chunk{slices.Clone(part)})
	}
	return chunks
}

// difference is a run in which two snapshots differ: of as many objects of the one and of the other,
// from a position in the one. All before, between and after the runs is the same.
type difference struct {
	from          int
	before, after []*Packed
}

// differences costs as much as there are chunks, and objects in the chunks that differ.
func differences(before, after *snapshot) []difference {
	var runs []difference
	a, b, from := before.chunks, after.chunks, 0
	for len(a) > 0 || len(b) > 0 {
		if len(a) > 0 && len(b) > 0 && a[0] == b[0] {
			from += len(a[0].objects)
			a, b = a[1:], b[1:]
			continue
		}
		run := difference{from: from}
		for !(len(a) > 0 && len(b) > 0 && a[0] == b[0]) && (len(a) > 0 || len(b) > 0) {
			// The one that begins earlier can't be met by the other any more.
			if len(b) == 0 || (len(a) > 0 && compareObjects(a[0].objects[0], b[0].objects[0]) <= 0) {
				run.before = append(run.before, a[0].objects...)
				from += len(a[0].objects)
				a = a[1:]
			} else {
				run.after = append(run.after, b[0].objects...)
				b = b[1:]
			}
		}
		runs = append(runs, run)
	}
	return runs
}

// each calls do for each object of a run, in order. before is nil if the object is new, after if it is gone;
// both are the same if it hasn't changed.
func (d difference) each(do func(before, after *Packed) error) error {
	a, b := d.before, d.after
	for len(a) > 0 || len(b) > 0 {
		var before, after *Packed
		var c int
		switch {
		case len(a) == 0:
			c = 1
		case len(b) == 0:
			c = -1
		default:
			c = compareObjects(a[0], b[0])
		}
		if c <= 0 {
			before, a = a[0], a[1:]
		}
		if c >= 0 {
			after, b = b[0], b[1:]
		}
		if err := do(before, after); err != nil {
			return err
		}
	}
	return nil
}
