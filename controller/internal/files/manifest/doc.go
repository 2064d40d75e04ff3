// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads Kubernetes objects from files, folders and standard input: YAML with
// several documents, JSON, and lists of objects.
//
// The size of what it reads is bounded, and each error names the file, the document and, if there is one, the
// field. In a folder, documents that are not Kubernetes objects are left out and listed, as are patches of kustomize;
// in a file that was named, they are an error.
//
// It starts no goroutine.
package manifest
