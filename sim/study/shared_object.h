// An object in memory that this process has in common with the children that it forks.
#pragma once

#include <cerrno>
#include <new>
#include <sys/mman.h>
#include <system_error>

namespace uvmsim {

template <class T>
class SharedObject {
 public:
  // Throws std::system_error when there is no memory.
  SharedObject() {
    void* const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "cannot share memory");
    object_ = new (memory) T();
  }
  ~SharedObject() { munmap(object_, sizeof(T)); }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  T* object_;
};

}  // namespace uvmsim
