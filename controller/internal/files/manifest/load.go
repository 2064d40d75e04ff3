// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/files/gitfolder"
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
	// File is the path; empty for standard input, and for objects that come from elsewhere.
	File string
	// Line counts from 1; 0 if the object comes from elsewhere.
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
	Stdin io.Reader
	// Fetch opens what an address has ([Fetcher]); nil if addresses are refused.
	Fetch func(address string) (io.ReadCloser, error)
	// Checkout returns a folder of a Git repository, and what removes it; nil if repositories are refused.
	Checkout func(address gitfolder.Address) (folder string, remove func() error, err error)
	Limits   Limits

	read      int64
	stdinRead bool
}

// Load reads all objects of the paths: files, folders with everything below them, addresses of files (https://) and of
// folders in Git repositories ([gitfolder.Parse]), and [Stdin]. In a folder, it
// reads files whose names end in .yaml, .yml or .json, in the order of their names, except for those whose
// name, or whose folder's name, begins with a dot. A file that is named twice, for example by its folder as
// well, is read once. The error names all files that can't be read.
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

func (l *Loader) loadPath(path string, set *Set) error {
	if path == Stdin {
		return l.loadStdin(set)
	}
	if address, isRepository, err := gitfolder.Parse(path); err != nil {
		return fmt.Errorf("%s: %w", redacted(path), err)
	} else if isRepository {
		return l.loadRepository(address, set)
	}
	if isAddress(path) {
		return l.loadAddress(path, set)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return l.loadFile(path, path, set, false)
	}
	return l.loadFolder(path, func(name string) string { return name }, set)
}

// loadFolder reads what is below a folder. Shown returns what people call a file or folder, from its path.
func (l *Loader) loadFolder(path string, shown func(path string) string, set *Set) error {
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
			errs = append(errs, l.loadFile(name, shown(name), set, true))
		}
		return nil
	})
	if err := errors.Join(append(errs, walkErr)...); err != nil {
		return err
	}
	if len(set.Objects) == before && !again {
		return fmt.Errorf("%s: no Kubernetes objects found in files whose names end in .yaml, .yml or .json; name a file, or another folder", shown(path))
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

// loadAddress reads a file that a server has. It is no file of this machine, so its objects have no place.
func (l *Loader) loadAddress(address string, set *Set) error {
	if l.Fetch == nil {
		return fmt.Errorf("%s: addresses are not read here; name a file or a folder", redacted(address))
	}
	if set.files[address] {
		return nil
	}
	body, err := l.Fetch(address)
	if err != nil {
		return fmt.Errorf("%s: %w", redacted(address), err)
	}
	set.files[address] = true
	defer set.noPlaces(len(set.Objects))
	return errors.Join(l.load(redacted(address), body, set, false), body.Close())
}

// loadRepository reads a folder of a Git repository.
func (l *Loader) loadRepository(address gitfolder.Address, set *Set) error {
	if l.Checkout == nil {
		return fmt.Errorf("%s: repositories are not read here; name a file or a folder", address)
	}
	if set.files[address.String()] {
		return nil
	}
	folder, remove, err := l.Checkout(address)
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	set.files[address.String()] = true
	defer set.noPlaces(len(set.Objects))
	shown := func(path string) string {
		return address.In(filepath.ToSlash(strings.TrimPrefix(path, folder)))
	}
	return errors.Join(l.loadFolder(folder, shown, set), remove())
}

// noPlaces removes the places of objects from the given index on: what is read from elsewhere is in no file of this
// machine.
func (s *Set) noPlaces(from int) {
	for i := range s.Objects[from:] {
		s.Objects[from+i].Place = Place{}
	}
}

// loadFile reads a file, which people call shown.
func (l *Loader) loadFile(path, shown string, set *Set, lenient bool) error {
	if set.has(path) {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	set.files[realPath(path)] = true
	return errors.Join(l.load(shown, file, set, lenient), file.Close())
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

// load reads one file; the path, by which people know it, is empty for standard input. If lenient is set, documents that are not objects are
// left out.
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
