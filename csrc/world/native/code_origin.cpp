#include "world/native/code_origin.h"

#include <string>
#include <string_view>
#include <vector>

#include "python/cached.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

struct Directory {
  std::string path;  // ends with a slash
  CodeOrigin origin;
};

const std::vector<Directory>& known_directories() {
  static constinit Cached<std::vector<Directory>> known;
  return *known.get([] {
    auto found = std::make_unique<std::vector<Directory>>();
    const std::pair<const char*, CodeOrigin> modules[] = {{"minidynamo", CodeOrigin::Minidynamo},
                                                          {"torch.nn", CodeOrigin::TorchModules},
                                                          {"torch", CodeOrigin::Torch},
                                                          {"os", CodeOrigin::StandardLibrary}};
    for (const auto& [name, origin] : modules) {
      Ref module = Ref::borrow(named_item(PyImport_GetModuleDict(), name));
      Ref file = module ? Ref::steal(PyObject_GetAttrString(module.get(), "__file__")) : Ref();
      const char* path = file && PyUnicode_Check(file.get()) ? PyUnicode_AsUTF8(file.get()) : nullptr;
      if (path) found->push_back({std::string(path, std::string_view(path).rfind('/') + 1), origin});
      clear_error();
    }
    return found;
  });
}

// Tests of the standard library lie among its modules.
bool is_in_test_folder(std::string_view path) {
  return path.find("/test/") != std::string_view::npos || path.find("/tests/") != std::string_view::npos;
}

}  // namespace

CodeOrigin code_origin(PyObject* filename) {
  const char* text = PyUnicode_AsUTF8(filename);
  if (!text) {
    clear_error();
    return CodeOrigin::User;
  }
  const std::string_view path = text;
  if (path.starts_with("<frozen")) return CodeOrigin::StandardLibrary;
  if (path.starts_with("<eval_with_key>")) return CodeOrigin::Torch;
  if (path.starts_with("<")) return CodeOrigin::User;
  for (const Directory& directory : known_directories()) {
    // site-packages lies below the standard library's directory.
    if (path.starts_with(directory.path) &&
        path.find("site-packages/", directory.path.size()) == std::string_view::npos) {
      // The slash before: of the folder itself.
      const bool is_test =
          directory.origin == CodeOrigin::StandardLibrary && is_in_test_folder(path.substr(directory.path.size() - 1));
      return is_test ? CodeOrigin::User : directory.origin;
    }
  }
  return CodeOrigin::User;
}

bool is_library_code(PyCodeObject* code) {
  const CodeOrigin origin = code_origin(code->co_filename);
  return origin != CodeOrigin::User && origin != CodeOrigin::TorchModules;
}

bool is_program_code(PyCodeObject* code) {
  if (code_origin(code->co_filename) != CodeOrigin::User) return false;
  const char* text = PyUnicode_AsUTF8(code->co_filename);
  if (!text) return clear_error(), true;
  const std::string_view path = text;
  return path.find("/site-packages/") == std::string_view::npos &&
         path.find("/dist-packages/") == std::string_view::npos;
}

}  // namespace minidynamo
