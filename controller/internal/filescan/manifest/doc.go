// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads Kubernetes objects from files, folders and standard input: YAML with
// several documents, JSON, and lists of objects.
//
// Whatever it reads is bounded in size, and each error names the file, the document and, where
// there is one, the field. In a folder, documents that are no Kubernetes objects are left out
// and listed; in a file that was named they are an error.
//
// It starts no goroutine.
package manifest
