// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// MaxCount is the largest number of shards.
const MaxCount = 32

// Set is some of the shards into which namespaces are divided. It never changes. The zero value has every namespace.
type Set struct {
	// Count is the number of shards that there are.
	Count int
	// Held has the shards of the set, in ascending order.
	Held []int
}

// Owns reports whether a namespace belongs to the set. What has no namespace belongs to the first shard.
func (s Set) Owns(namespace string) bool {
	return s.Count == 0 || slices.Contains(s.Held, shardOf(namespace, s.Count))
}

// First reports whether the set has the first shard, whose holder does what is to be done once in a cluster.
func (s Set) First() bool { return s.Owns("") }

// Equal reports whether two sets are the same.
func (s Set) Equal(other Set) bool { return s.Count == other.Count && slices.Equal(s.Held, other.Held) }

// String returns such as "0,2 of 3", or "all".
func (s Set) String() string {
	if s.Count <= 1 {
		return "all"
	}
	held := make([]string, 0, len(s.Held))
	for _, shard := range s.Held {
		held = append(held, fmt.Sprint(shard))
	}
	return fmt.Sprintf("%s of %d", strings.Join(held, ","), s.Count)
}

// shardOf returns the shard of a namespace. It must never change: two versions side by side have to agree.
func shardOf(namespace string, count int) int {
	if namespace == "" || count <= 1 {
		return 0
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(namespace))     // It never fails.
	return int(sum.Sum32() % uint32(count)) // At most MaxCount.
}
