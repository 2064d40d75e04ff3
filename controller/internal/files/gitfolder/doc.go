// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitfolder reads folders of Git repositories, with the addresses that kustomize has for remote targets,
// and the git binary.
//
// What it reads comes from others: symbolic links become files with the name of their target, hooks don't run,
// submodules are not read, and time and size are bounded. It never prompts, and refuses passwords in addresses.
//
// [Address.Checkout] ends git, and its own goroutine, before it returns.
package gitfolder
