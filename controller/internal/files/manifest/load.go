// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Stdin is the path for standard input.
const Stdin = "-"

// Object is one object and where it comes from.
type Object struct {
	*unstructured.Unstructured

	// Origin is the path and, if the file has several documents, the number of the document.
	Origin string
	// Place is where the document begins. All items of a list have that of the list.
	Place Place
}

// Place is a place in a file.
type Place struct {
	// File is the path; empty for standard input, and for objects of a cluster.
	File string
	// Line counts from 1; 0 for objects of a cluster.
	Line int
}

// Set is what was read.
type Set struct {
	Objects []Object
	// LeftOut lists the documents in folders that are not objects, and why; for people.
	LeftOut []string

	// files are the files that were read, by their resolved paths.
	files map[string]bool
}

// Limits bound what is read.
type Limits struct {
	// File is the largest size of one file in bytes, Total that of all together.
	File, Total int64
}

// DefaultLimits returns limits that are far above usual sizes, and low enough not to exhaust memory.
func DefaultLimits() Limits {
	return Limits{File: 256 << 20, Total: 256 << 20}
}

// Loader reads objects. Its methods are not safe for concurrent use.
type Loader struct {
	// Stdin is what the path "-" reads; nil if that path is not allowed.
	Stdin  io.Reader
	Limits Limits

	read      int64
	stdinRead bool
}

// Load reads all objects of the paths: files, folders with everything below them, and [Stdin]. In a folder, it reads
// files whose names end in .yaml, .yml or .json, in the order of their names, except for those whose name, or whose
// folder's name, begins with a dot. A file that is named twice, for example by its folder as well, is read once. The
// error names all files that can't be read.
func (l *Loader) Load(paths ...string) (Set, error) {
	set := Set{files: map[string]bool{}}
	var errs []error
	for _, path := range paths {
		if err := l.loadPath(path, &set); err != nil {
			errs = append(errs, err)
		}
	}
	return set, errors.Join(errs...)
}

// host returns whose address it is: the rest may have secrets.
func host(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Scheme + "://" + u.Host
	}
	return "an address"
}

func (l *Loader) loadPath(path string, set *Set) error {
	if path == Stdin {
		return l.loadStdin(set)
	}
	if strings.Contains(path, "://") {
		return fmt.Errorf("%s: addresses are not read: download the file with curl, or the folder with git clone, and name that", host(path))
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return l.loadFile(path, set, false)
	}
	return l.loadFolder(path, set)
}

// loadFolder reads the files below a folder.
func (l *Loader) loadFolder(path string, set *Set) error {
	var errs []error
	before, again := len(set.Objects), false
	walkErr := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			// WalkDir goes on behind a folder that can't be read.
			errs = append(errs, err)
		case name != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case isManifest(name) && isFile(name, entry):
			again = again || set.has(name)
			errs = append(errs, l.loadFile(name, set, true))
		}
		return nil
	})
	if err := errors.Join(append(errs, walkErr)...); err != nil {
		return err
	}
	if len(set.Objects) == before && !again {
		return fmt.Errorf("%s: no Kubernetes objects found in files whose names end in .yaml, .yml or .json; name a file, or another folder", path)
	}
	return nil
}

// isFile follows symbolic links to files, since mounted ConfigMaps consist of them. Links to
// folders are not followed: they may lead in circles.
func isFile(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

func (l *Loader) loadStdin(set *Set) error {
	if l.Stdin == nil || l.stdinRead {
		return errors.New("standard input (-) can be read only once: give one - or files")
	}
	l.stdinRead = true
	return l.load("", l.Stdin, set, false)
}

// loadFile reads a file.
func (l *Loader) loadFile(path string, set *Set, lenient bool) error {
	if set.has(path) {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	set.files[realPath(path)] = true
	return errors.Join(l.load(path, file, set, lenient), file.Close())
}

// has reports whether a file was read.
func (s *Set) has(path string) bool { return s.files[realPath(path)] }

// realPath returns the path of a file without symbolic links, which identifies it.
func realPath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return path
}

// load reads one file; the path is empty for standard input. If lenient is set, documents that are not objects are left
// out.
func (l *Loader) load(path string, r io.Reader, set *Set, lenient bool) error {
	origin := cmp.Or(path, "standard input")
	limits := l.Limits
	if limits == (Limits{}) {
		limits = DefaultLimits()
	}
	// One byte more, to notice a file that is larger than the limit.
	data, err := io.ReadAll(io.LimitReader(r, min(limits.File, limits.Total-l.read)+1))
	if err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	l.read += int64(len(data))
	switch {
	case int64(len(data)) > limits.File:
		return fmt.Errorf("%s: is larger than %d bytes, the limit for one file; split it", origin, limits.File)
	case l.read > limits.Total:
		return fmt.Errorf("%s: all files together are larger than %d bytes; give fewer files at a time", origin, limits.Total)
	}
	documents := split(data)
	var errs []error
	for i, document := range documents {
		location := origin
		if len(documents) > 1 {
			location = fmt.Sprintf("%s: document %d", origin, i+1)
		}
		errs = append(errs, set.add(location, Place{path, document.line}, document, lenient))
	}
	return errors.Join(errs...)
}

func (s *Set) add(location string, place Place, d document, lenient bool) error {
	value, err := d.decode()
	if err != nil {
		return fmt.Errorf("%s: %w", location, err)
	}
	objects, err := objectsOf(value)
	var foreign notAnObjectError
	if lenient && errors.As(err, &foreign) {
		s.LeftOut = append(s.LeftOut, fmt.Sprintf("%s: %v", location, err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", location, err)
	}
	for _, object := range objects {
		s.Objects = append(s.Objects, Object{Unstructured: object, Origin: location, Place: place})
	}
	return nil
}
